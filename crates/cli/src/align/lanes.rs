//! What is aligned: a pair of files, or the lanes of a sheet (`--input`), each with its read group.
//!
//! A sheet is CSV with a head; fields are separated by commas, semicolons or tabs, lines that start
//! with `#` are comments, and capitals in the head count as small letters. A lane is aligned as if
//! it were alone: each has cohorts of its own. Its read group comes from the sheet, or from the
//! names of its reads; the latter is to be had without a sheet, too (`--rg-from-names`).

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use seqloom_align::UmiSource;
use seqloom_io::reads::InputBlock;
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_terminal::{Console, UsageError};

use super::arguments::AlignArguments;

/// Names of reads that are looked at.
const LOOKED_AT: usize = 1000;
/// Columns that mean something.
const COLUMNS: [&str; 9] = [
    "sample",
    "fastq_1",
    "fastq_2",
    "lane",
    "library",
    "platform",
    "platform_unit",
    "read_group",
    "umi",
];

/// Why a sheet is none.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SheetError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// It is no CSV.
    #[error("{}: {source}", path.display())]
    Csv { path: PathBuf, source: csv::Error },
    /// It has no such column.
    #[error(
        "{}, line {line}: no column {column} among {}; the first line of a sheet names at least \
         the columns sample and fastq_1, with commas, semicolons or tabs between them",
        path.display(), quoted(found)
    )]
    NoColumn { path: PathBuf, line: u64, column: &'static str, found: Vec<String> },
    /// A row says what makes no sense.
    #[error("{}, line {line}: {problem}", path.display())]
    Row { path: PathBuf, line: u64, problem: String },
    /// The names of reads do not say what was expected.
    #[error("{}: {NAMELESS}; give -R", path.display())]
    Names { path: PathBuf },
}

impl RunError for SheetError {
    fn class(&self) -> Class {
        match self {
            Self::Io { source, .. } => Class::of_input(source),
            Self::Csv { .. } | Self::NoColumn { .. } | Self::Row { .. } | Self::Names { .. } => {
                Class::Input
            }
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Io { path, .. } | Self::Csv { path, .. } | Self::Names { path } => {
                Place::of(path)
            }
            Self::NoColumn { path, line, .. } | Self::Row { path, line, .. } => {
                Place::of(path).at_line(*line)
            }
        }
    }
}

/// Why no read group can be made of names.
const NAMELESS: &str = "the names of its reads are not Illumina's, or are of several lanes";

/// A lane as the sheet or the command line names it: files that share a read group.
#[derive(Debug, Clone, Default)]
pub(crate) struct LaneSpec {
    /// One, or two with mates in the same order.
    pub(super) files: Vec<PathBuf>,
    /// What the sheet or the command line says of it; `None` where nobody requests it.
    pub(super) row: Option<Row>,
}

/// A row of a sheet but for its files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// From 1; 0 without a sheet.
    line: u64,
    sample: String,
    lane: Option<String>,
    library: Option<String>,
    platform: Option<String>,
    platform_unit: Option<String>,
    read_group: Option<String>,
    /// In place of `--umi`.
    pub(super) umi: Option<UmiSource>,
}

/// The lanes, and what of the sheet means nothing.
#[derive(Debug, Default)]
pub(crate) struct LaneSpecs {
    pub(crate) lanes: Vec<LaneSpec>,
    /// Names of columns that are not read.
    pub(super) ignored: Vec<String>,
    /// Lines that start with `#`.
    comments: usize,
}

impl LaneSpecs {
    /// Lane that the command line names.
    ///
    /// # Errors
    /// A sheet that is none, or of several samples; files that are missing or come twice.
    pub(crate) fn of(arguments: &AlignArguments) -> seqloom_terminal::Result<Self> {
        if let Some(path) = &arguments.sheet {
            return read(path, arguments.names.sample.as_deref());
        }
        let files = arguments.first.iter().chain(&arguments.second).cloned().collect();
        let row = arguments.names.rg_from_names.then(|| Row {
            sample: arguments.names.sample.clone().unwrap_or_default(),
            library: arguments.names.library.clone(),
            ..Row::default()
        });
        Ok(Self { lanes: vec![LaneSpec { files, row }], ..Self::default() })
    }

    /// Names the columns and counts the lines that mean nothing.
    pub(super) fn report_ignored(&self, console: &Console) {
        if !self.ignored.is_empty() {
            let columns = self.ignored.join(", ");
            console.info(&format!("align: columns of the sheet that are ignored: {columns}"));
        }
        if self.comments > 0 {
            let lines = self.comments;
            console
                .info(&format!("align: lines of the sheet that start with # are ignored: {lines}"));
        }
    }

    /// All files that are read.
    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.lanes.iter().flat_map(|lane| &lane.files)
    }
}

fn read(path: &Path, sample: Option<&str>) -> seqloom_terminal::Result<LaneSpecs> {
    let io = |source| SheetError::Io { path: path.to_owned(), source };
    let text = fs::read(path).map_err(io)?;
    let LaneSpecs { mut lanes, ignored, comments } = parse(path, &text)?;
    let mut samples: Vec<String> =
        lanes.iter().filter_map(|lane| Some(lane.row.as_ref()?.sample.clone())).collect();
    samples.sort_unstable();
    samples.dedup();
    let list = samples.join(", ");
    match sample {
        Some(sample) => {
            lanes.retain(|lane| lane.row.as_ref().is_some_and(|it| it.sample == sample))
        }
        None if samples.len() > 1 => {
            let text = format!(
                "{}: {} samples, and a run aligns one: {list}; --sample picks it",
                path.display(),
                samples.len()
            );
            return Err(UsageError(text).into());
        }
        None => {}
    }
    if lanes.is_empty() {
        let which = sample.map_or_else(|| "any".to_owned(), |it| format!("sample {it}"));
        let text = format!("{}: no row of {which}; samples: {list}", path.display());
        return Err(UsageError(text).into());
    }
    refuse_files(path, &lanes)?;
    Ok(LaneSpecs { lanes, ignored, comments })
}

/// The head of a sheet.
struct Head {
    /// Names of columns in small letters.
    columns: Vec<String>,
    delimiter: u8,
    /// Its line, from 1.
    line: u64,
}

/// Columns that a sheet must have.
const NEEDED: [&str; 2] = ["sample", "fastq_1"];

impl Head {
    /// The first line that is neither blank nor a comment; or a comment that names the columns.
    fn of(path: &Path, text: &[u8]) -> Result<Self, SheetError> {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let lines = (1..).zip(text.split(|&byte| byte == b'\n'));
        let mut missing = (1, Vec::new());
        for (line, words) in lines.filter(|(_, words)| !words.trim_ascii().is_empty()) {
            let is_comment = words.starts_with(b"#");
            let words = words.strip_prefix(b"#").unwrap_or(words);
            let read = |delimiter| Self { columns: columns(words, delimiter), delimiter, line };
            let mut heads = b",;\t".iter().map(|&delimiter| read(delimiter));
            if let Some(head) = heads.find(|head| head.lacks().is_none()) {
                return head.unambiguous(path);
            }
            if !is_comment {
                let most = b",;\t".iter().map(|&delimiter| read(delimiter).columns);
                missing = (line, most.max_by_key(Vec::len).unwrap_or_default());
                break;
            }
        }
        let (line, found) = missing;
        let column = NEEDED.into_iter().find(|it| !found.iter().any(|column| column == it));
        let column = column.unwrap_or(NEEDED[0]);
        Err(SheetError::NoColumn { path: path.to_owned(), line, column, found })
    }

    fn lacks(&self) -> Option<&'static str> {
        NEEDED.into_iter().find(|needed| !self.columns.iter().any(|column| column == needed))
    }

    /// Refuses a column that comes twice.
    fn unambiguous(self, path: &Path) -> Result<Self, SheetError> {
        let twice = |name: &&&str| self.columns.iter().filter(|column| column == *name).count() > 1;
        match COLUMNS.iter().find(twice) {
            None => Ok(self),
            Some(name) => {
                let problem = format!("two columns {name}: capitals make no difference");
                Err(SheetError::Row { path: path.to_owned(), line: self.line, problem })
            }
        }
    }
}

/// The line, from 1, of the first row at or after `byte`: the reader passes over empty lines and
/// comments.
fn line_at(text: &[u8], byte: usize) -> u64 {
    let is_passed_over = |line: &&[u8]| line.is_empty() || line.starts_with(b"#");
    let (before, rest) = text.split_at(byte.min(text.len()));
    let lines = before.iter().filter(|&&byte| byte == b'\n').count();
    let passed = rest.split(|&byte| byte == b'\n').take_while(is_passed_over).count();
    (lines + passed) as u64 + 1
}

/// The fields of a head, in small letters.
fn columns(line: &[u8], delimiter: u8) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new();
    reader.trim(csv::Trim::All).has_headers(false).delimiter(delimiter);
    let record = reader.from_reader(line).records().next().and_then(Result::ok);
    record.iter().flatten().map(str::to_ascii_lowercase).collect()
}

fn quoted(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", "),
    }
}

fn parse(path: &Path, text: &[u8]) -> Result<LaneSpecs, SheetError> {
    let malformed = |source| SheetError::Csv { path: path.to_owned(), source };
    // The reader would count a line that ends in CR LF with the one before.
    let is_kept = |at: &usize| text[*at] != b'\r' || text.get(*at + 1) != Some(&b'\n');
    let text: Vec<u8> = (0..text.len()).filter(is_kept).map(|at| text[at]).collect();
    let Head { columns: heads, delimiter, line: head_line } = Head::of(path, &text)?;
    let comments = text.split(|&byte| byte == b'\n').skip(head_line as usize);
    let comments = comments.filter(|line| line.starts_with(b"#")).count();
    let mut reader = csv::ReaderBuilder::new();
    reader.trim(csv::Trim::All).delimiter(delimiter).comment(Some(b'#'));
    reader.has_headers(false).flexible(true);
    let mut reader = reader.from_reader(&text[..]);
    let column = |name: &str| heads.iter().position(|head| head == name);
    let is_ignored = |head: &&String| !COLUMNS.contains(&head.as_str());
    let ignored = heads.iter().filter(is_ignored).cloned().collect();
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut lanes = Vec::new();
    for record in reader.records() {
        let record = record.map_err(malformed)?;
        let line = line_at(&text, record.position().map_or(0, csv::Position::byte) as usize);
        if line <= head_line {
            continue;
        }
        let fail = |problem: String| SheetError::Row { path: path.to_owned(), line, problem };
        if record.len() != heads.len() {
            let (found, expected) = (record.len(), heads.len());
            return Err(fail(format!("{found} fields, and the first line has {expected}")));
        }
        if let Some(field) = record.iter().find(|field| field.contains(char::is_control)) {
            return Err(fail(format!("a control character in {field:?}")));
        }
        let value = |name: &str| {
            let field = column(name).and_then(|column| record.get(column));
            field.filter(|field| !field.is_empty()).map(str::to_owned)
        };
        let needed = |name: &str| value(name).ok_or_else(|| fail(format!("no {name}")));
        let first = needed("fastq_1")?;
        let files = [Some(first), value("fastq_2")].into_iter().flatten();
        let umi = value("umi").map(|umi| umi.parse().map_err(|error| format!("umi: {error}")));
        let umi = umi.transpose().map_err(fail)?;
        let row = Row {
            line,
            sample: needed("sample")?,
            lane: value("lane"),
            library: value("library"),
            platform: value("platform"),
            platform_unit: value("platform_unit"),
            read_group: value("read_group"),
            umi,
        };
        let files = files.map(|file| folder.join(file)).collect();
        lanes.push(LaneSpec { files, row: Some(row) });
    }
    Ok(LaneSpecs { lanes, ignored, comments })
}

/// Refuses files that are missing, are none, or come twice under any name.
fn refuse_files(path: &Path, lanes: &[LaneSpec]) -> Result<(), SheetError> {
    let mut seen: HashMap<(u64, u64), u64> = HashMap::new();
    for lane in lanes {
        let line = lane.row.as_ref().map_or(0, |row| row.line);
        let fail = |problem: String| SheetError::Row { path: path.to_owned(), line, problem };
        for file in &lane.files {
            let name = file.display();
            let found = fs::metadata(file).map_err(|error| fail(format!("{name}: {error}")))?;
            if !found.is_file() {
                return Err(fail(format!(
                    "{name} is not a regular file; lanes are files, not pipes"
                )));
            }
            if let Some(before) = seen.insert((found.dev(), found.ino()), line) {
                let place =
                    if before == line { "this line".into() } else { format!("line {before}") };
                return Err(fail(format!("{name} is the same file as one of {place}")));
            }
        }
    }
    Ok(())
}

/// What the names of reads say: `FLOWCELL.LANE`, and the barcode where it is always the same.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    flow_cell: String,
    lane: String,
    barcode: Option<String>,
}

/// The origin of all of these header lines, without `@`: Illumina's
/// `INSTRUMENT:RUN:FLOWCELL:LANE:TILE:X:Y`, then maybe ` 1:N:0:BARCODE`. `None` where one has
/// another form or another origin.
fn origin<'l>(mut lines: impl Iterator<Item = &'l str>) -> Option<Origin> {
    let of_line = |line: &str| {
        let (name, comment) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let parts: Vec<&str> = name.split(':').collect();
        let is_number =
            |part: &&str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
        let has_form = (7..=8).contains(&parts.len())
            && parts[3..7].iter().all(is_number)
            && !parts[2].is_empty();
        let barcode = comment.split(':').nth(3).map(|it| it.trim().to_owned());
        has_form.then(|| Origin {
            flow_cell: parts[2].to_owned(),
            lane: parts[3].to_owned(),
            barcode: barcode.filter(|it| !it.is_empty()),
        })
    };
    let mut origin = of_line(lines.next()?)?;
    for line in lines {
        let other = of_line(line)?;
        if (&other.flow_cell, &other.lane) != (&origin.flow_cell, &origin.lane) {
            return None;
        }
        if other.barcode != origin.barcode {
            origin.barcode = None;
        }
    }
    Some(origin)
}

/// Header lines of the first reads, without `@`.
fn header_lines(first: &[InputBlock]) -> Vec<String> {
    let mut lines = Vec::new();
    for block in first.iter().filter(|block| block.file == 0) {
        for spans in block.reads.reads.iter().take(LOOKED_AT - lines.len().min(LOOKED_AT)) {
            let line = &block.reads.bytes[spans.name.start as usize..];
            let end = line.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            lines.push(String::from_utf8_lossy(&line[..end.unwrap_or(line.len())]).into_owned());
        }
    }
    lines
}

/// The read group lines of lanes that have a row, as `-R` has them, in order.
///
/// # Errors
/// A lane whose reads say nothing and for which the sheet has no read group; one that comes twice.
pub(super) fn read_group_lines(
    sheet: Option<&Path>,
    lanes: &[(LaneSpec, Vec<InputBlock>)],
) -> Result<Vec<String>, SheetError> {
    let (mut lines, mut ids) = (Vec::new(), HashMap::new());
    for (lane, first) in lanes {
        let Some(row) = &lane.row else { continue };
        let fail = |problem: String| match sheet {
            Some(path) => SheetError::Row { path: path.to_owned(), line: row.line, problem },
            None => SheetError::Names { path: lane.files.first().cloned().unwrap_or_default() },
        };
        let names = header_lines(first);
        let found = origin(names.iter().map(String::as_str));
        let id = row.id(found.as_ref(), &ids).map_err(fail)?;
        ids.insert(id.clone(), row.line);
        lines.push(row.read_group_line(id, found.as_ref()));
    }
    Ok(lines)
}

impl Row {
    /// ID of its read group, which none of `taken`, with their lines, has.
    fn id(&self, found: Option<&Origin>, taken: &HashMap<String, u64>) -> Result<String, String> {
        if let Some(id) = &self.read_group {
            return match taken.get(id) {
                Some(before) => Err(format!("read group {id} is that of line {before}, too")),
                None => Ok(id.clone()),
            };
        }
        let derived = found.map(|it| format!("{}.{}", it.flow_cell, it.lane));
        let of_sheet = self.lane.as_ref().map(|lane| format!("{}.{lane}", self.sample));
        let Some(id) = derived.or(of_sheet) else {
            return Err(format!("{NAMELESS}; give it a read_group or a lane"));
        };
        let numbered = (2..).map(|n| format!("{id}.{n}"));
        let mut all = std::iter::once(id.clone()).chain(numbered);
        Ok(all.find(|id| !taken.contains_key(id)).unwrap_or(id))
    }

    fn read_group_line(&self, id: String, found: Option<&Origin>) -> String {
        let platform = self.platform.clone().or_else(|| found.map(|_| "ILLUMINA".to_owned()));
        let fields = [
            ("ID", Some(id)),
            ("SM", Some(self.sample.clone())),
            ("LB", self.library.clone()),
            ("PL", platform),
            ("PU", self.platform_unit.clone().or_else(|| found.map(Origin::unit))),
        ];
        let fields =
            fields.into_iter().filter_map(|(tag, value)| Some(format!("\t{tag}:{}", value?)));
        format!("@RG{}", fields.collect::<String>())
    }
}

impl Origin {
    /// PU.
    fn unit(&self) -> String {
        let barcode = self.barcode.iter().map(|barcode| format!(".{barcode}"));
        format!("{}.{}{}", self.flow_cell, self.lane, barcode.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<LaneSpecs, String> {
        parse(Path::new("in/sheet.csv"), text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn sheets_of_all_styles_are_read() {
        let plain = "sample,fastq_1,fastq_2,lane\ns,a.fq,b.fq,L1\n";
        let expected = rows(plain).unwrap();
        assert_eq!(expected.lanes[0].files, [Path::new("in/a.fq"), Path::new("in/b.fq")]);
        let row = expected.lanes[0].row.clone().unwrap();
        assert_eq!((row.line, row.sample.as_str(), row.lane.as_deref()), (2, "s", Some("L1")));
        for text in [
            "\u{feff}sample,fastq_1,fastq_2,lane\r\ns,a.fq,b.fq,L1\r\n",
            "\"sample\",\"fastq_1\",\"fastq_2\",\"lane\"\n\"s\",\"a.fq\",\"b.fq\",\"L1\"",
            "lane,sample,fastq_2,fastq_1\nL1, s ,b.fq,a.fq\n",
            "sample;fastq_1;fastq_2;lane\ns;a.fq;b.fq;L1\n",
            "sample\tfastq_1\tfastq_2\tlane\r\ns\ta.fq\tb.fq\tL1\r\n",
            "Sample,FASTQ_1,Fastq_2,LANE\ns,a.fq,b.fq,L1\n",
            "#Sample;FASTQ_1;Fastq_2;LANE\ns;a.fq;b.fq;L1\n#t;c.fq;d.fq;L2\n",
        ] {
            let found = rows(text).unwrap();
            assert_eq!(found.lanes.len(), 1, "{text}");
            assert_eq!(found.lanes[0].files, expected.lanes[0].files, "{text}");
            assert_eq!(found.lanes[0].row, expected.lanes[0].row, "{text}");
        }
        let commented = "# of May\n\nsample,fastq_1\n#s,a.fq\nt,b;c.fq\n\n# end\n";
        let found = rows(commented).unwrap();
        assert_eq!((found.lanes.len(), found.comments), (1, 2));
        assert_eq!(found.lanes[0].row.as_ref().unwrap().line, 5);
        assert_eq!(found.lanes[0].files, [Path::new("in/b;c.fq")]);
        let wide = rows("sample,fastq_1,umi,status\ns,/x/a,name,1\nt,\"b,c\",,\n").unwrap();
        assert_eq!(wide.ignored, ["status"]);
        let umis: Vec<_> =
            wide.lanes.iter().map(|it| it.row.as_ref().unwrap().umi.clone()).collect();
        assert_eq!(umis, [Some(UmiSource::Name), None]);
        assert_eq!(wide.lanes[0].files, [Path::new("/x/a")]);
        assert_eq!(wide.lanes[1].files, [Path::new("in/b,c")]);
    }

    #[test]
    fn sheets_that_are_none_say_why() {
        let t = |text: &str, what: &str| {
            let error = rows(text).unwrap_err();
            assert!(error.contains(what) && error.contains("sheet.csv"), "{error}");
        };
        t("", "no column sample among none");
        t("#a\n\n", "no column sample among none");
        t(
            "s,a.fq,b.fq\n",
            "line 1: no column sample among \"s\", \"a.fq\", \"b.fq\"; the first line",
        );
        t("sample|fastq_1\ns|a\n", "with commas, semicolons or tabs between them");
        t("sample,fastq_2\ns,a\n", "no column fastq_1");
        t("\nSample;FASTQ_2\ns;a\n", "line 2: no column fastq_1 among \"sample\", \"fastq_2\"");
        t("sample,fastq_1,Sample\ns,a,t\n", "line 1: two columns sample: capitals");
        t("#c\nsample,fastq_1\n#d\n,b\n", "line 4: no sample");
        t("sample,fastq_1\ns,a\n,b\n", "line 3: no sample");
        t("sample,fastq_1\ns,\n", "line 2: no fastq_1");
        t("sample,fastq_1\ns,a,b\n", "line 2: 3 fields, and the first line has 2");
        t("#sample,fastq_1\n\ns,a,b\n", "line 3: 3 fields, and the first line has 2");
        t("sample,fastq_1\n\"s\tx\",a\n", "control character");
    }

    #[test]
    fn names_of_reads_show_flow_cell_lane_and_barcode() {
        let t = |lines: &[&str], expected: Option<&str>| {
            let found = origin(lines.iter().copied());
            assert_eq!(found.as_ref().map(Origin::unit).as_deref(), expected, "{lines:?}");
        };
        t(
            &["A:1:HX:3:1101:5:6 1:N:0:ACGT+T", "A:1:HX:3:1102:5:6 1:N:0:ACGT+T"],
            Some("HX.3.ACGT+T"),
        );
        t(&["A:1:HX:3:1101:5:6 1:N:0:ACGT", "A:1:HX:3:1102:5:6 1:N:0:ACGA"], Some("HX.3"));
        t(&["A:1:HX:3:1101:5:6", "A:1:HX:3:1101:5:7:UMI"], Some("HX.3"));
        t(&["A:1:HX:3:1101:5:6", "A:1:HX:4:1101:5:6"], None);
        t(&["A:1:HX:3:1101:5:6", "read7"], None);
        t(&["SRR1.1 1/1"], None);
        t(&[], None);
    }

    #[test]
    fn read_groups_have_names_of_their_own() {
        let lane = |line, read_group: Option<&str>, lane: Option<&str>| LaneSpec {
            row: Some(Row {
                line,
                sample: "s".into(),
                library: Some("l".into()),
                read_group: read_group.map(str::to_owned),
                lane: lane.map(str::to_owned),
                ..Row::default()
            }),
            ..LaneSpec::default()
        };
        let lines = |lanes: &[LaneSpec]| {
            let lanes: Vec<_> = lanes.iter().map(|lane| (lane.clone(), Vec::new())).collect();
            read_group_lines(Some(Path::new("x.csv")), &lanes).map_err(|error| error.to_string())
        };
        let found = lines(&[lane(2, Some("a"), None), lane(3, None, Some("L1"))]).unwrap();
        assert_eq!(found, ["@RG\tID:a\tSM:s\tLB:l", "@RG\tID:s.L1\tSM:s\tLB:l"]);
        let found = lines(&[lane(2, None, Some("L1")), lane(3, None, Some("L1"))]).unwrap();
        assert!(found[1].starts_with("@RG\tID:s.L1.2\t"), "{found:?}");
        let twice = lines(&[lane(2, Some("a"), None), lane(3, Some("a"), None)]).unwrap_err();
        assert_eq!(twice, "x.csv, line 3: read group a is that of line 2, too");
        assert!(lines(&[lane(2, None, None)]).unwrap_err().contains("read_group or a lane"));
    }
}
