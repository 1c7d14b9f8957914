//! What goes with the program: man pages, completions, how to cite it. All of it is made from the
//! program's own arguments, so that it is never after them.

use std::path::{Path, PathBuf};

use clap::{Command, ValueEnum};
use clap_complete::aot::{Shell, generate};
use seqloom_terminal::error::Bug;
use seqloom_terminal::{Console, print};

use crate::options_page;
use crate::output::{stage_text, write_error};

/// How to cite the program, and what it is built on.
const CITATION: &str = include_str!("../../../CITATION.cff");

/// The options of `seqloom manual`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManualArguments {
    /// Folder for the pages, one for each command; it is made if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Write one page of Markdown, options.md, instead
    #[arg(long)]
    markdown: bool,
}

/// The options of `seqloom completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  seqloom completions bash > ~/.local/share/bash-completion/completions/seqloom
  seqloom completions zsh > ~/.zfunc/_seqloom      (a folder of $fpath)
  seqloom completions fish > ~/.config/fish/completions/seqloom.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell
    shell: ShellArgument,
}

/// Shells in which the completions are tried.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ShellArgument {
    Bash,
    Zsh,
    Fish,
}

impl From<ShellArgument> for Shell {
    fn from(shell: ShellArgument) -> Self {
        match shell {
            ShellArgument::Bash => Self::Bash,
            ShellArgument::Zsh => Self::Zsh,
            ShellArgument::Fish => Self::Fish,
        }
    }
}

/// Writes a page of section 1 for each command that is not hidden.
pub(crate) fn manual(
    arguments: &ManualArguments,
    mut command: Command,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).map_err(write_error(folder))?;
    command.build();
    if arguments.markdown {
        let path = folder.join("options.md");
        stage_text(&path, &options_page::page(&command))?.commit()?;
        return Ok(());
    }
    let mut pages = 0;
    write_pages(&command, folder, &mut pages)?;
    console.info(&format!("manual: {pages} pages in {}", folder.display()));
    Ok(())
}

fn write_pages(command: &Command, folder: &Path, pages: &mut u32) -> seqloom_terminal::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text).map_err(Bug::new)?;
    let path = folder.join(format!("{name}.1"));
    stage_text(&path, &String::from_utf8_lossy(&text))?.commit()?;
    *pages += 1;
    let is_shown = |it: &&Command| !it.is_hide_set() && it.get_name() != "help";
    command.get_subcommands().filter(is_shown).try_for_each(|it| write_pages(it, folder, pages))
}

/// Prints the completions of a shell.
pub(crate) fn completions(
    arguments: &CompletionsArguments,
    mut command: Command,
) -> seqloom_terminal::Result<()> {
    let (shell, mut text) = (Shell::from(arguments.shell), Vec::new());
    generate(shell, &mut command, "seqloom", &mut text);
    Ok(print(&String::from_utf8_lossy(&text))?)
}

/// Prints how to cite the program.
pub(crate) fn cite() -> seqloom_terminal::Result<()> {
    Ok(print(CITATION)?)
}
