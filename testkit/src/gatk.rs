//! GATK as a referee: found where `tests/install-jars.sh gatk` puts it, or where `SEQLOOM_GATK`
//! says.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::skip::{skip, slow_tests};

/// Environment variable: folder of GATK's jars.
pub const GATK: &str = "SEQLOOM_GATK";

/// Versions that tests compare with, the current one first.
pub const VERSIONS: [&str; 2] = ["4.7.0.0", "4.6.2.0"];

/// What Java must open to GATK (its launcher's own list).
const OPENED: [&str; 4] = ["java.nio", "java.lang", "java.util", "java.lang.invoke"];

/// An installed GATK.
#[derive(Debug, Clone)]
pub struct Gatk {
    jars: PathBuf,
    version: &'static str,
}

impl Gatk {
    /// GATK where one of [`VERSIONS`] is installed. Where none is, the long tests say that they are
    /// skipped; the short run leaves GATK out on purpose, which is no skip.
    #[must_use]
    pub fn find() -> Option<Self> {
        let set = std::env::var_os(GATK).filter(|path| !path.is_empty()).map(PathBuf::from);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.gatk");
        let jars = set.unwrap_or(root);
        let has_java = || Command::new("java").arg("--version").output().is_ok();
        let jar = |version: &&str| jars.join(format!("gatk-{version}.jar")).exists();
        let installed = VERSIONS.into_iter().find(jar).filter(|_| has_java());
        if let Some(version) = installed {
            return Some(Self { jars, version });
        }
        if slow_tests() {
            skip("GATK or java is not installed (tests/install-jars.sh gatk)");
        }
        None
    }

    /// Name and version: `GATK 4.7.0.0`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("GATK {}", self.version)
    }

    /// Runs a tool to its end.
    ///
    /// # Errors
    /// What the tool said where it failed.
    pub fn run<I>(&self, tool: &str, arguments: I) -> Result<(), String>
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        // Tests run side by side, and each of these takes two cores and 2 GB.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _running = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let mut java = Command::new("java");
        java.args(["-Xmx2g", "-XX:+UseSerialGC"]);
        for package in OPENED {
            java.args(["--add-opens".to_owned(), format!("java.base/{package}=ALL-UNNAMED")]);
        }
        java.arg("-cp").arg(self.jars.join("*")).arg("org.broadinstitute.hellbender.Main");
        java.arg(tool).args(arguments.into_iter().map(Into::into));
        let output = java.output().map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }
}
