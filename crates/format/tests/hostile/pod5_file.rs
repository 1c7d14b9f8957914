//! POD5 files for tests, written plainly: FlatBuffers, Arrow tables and the container, with what
//! the POD5 library does not write too (missing values, dictionaries in parts, tables of version
//! 0).
//!
//! Shared by the tests of two crates and by fuzz targets.
#![allow(dead_code)] // none of them uses all of it

/// A value in a FlatBuffer table.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// Absent.
    No,
    Scalar(i64),
    Text(String),
    Table(Vec<Value>),
    Tables(Vec<Value>),
    /// Elements of so many bytes.
    Structs(Vec<u8>, usize),
}

fn pad(out: &mut Vec<u8>, multiple: usize, remainder: usize) {
    while out.len() % multiple != remainder {
        out.push(0);
    }
}

fn patch(out: &mut [u8], at: usize, target: usize) {
    out[at..at + 4].copy_from_slice(&((target - at) as u32).to_le_bytes());
}

/// Writes a table and what it refers to after all that is there; gives its place.
fn put_table(out: &mut Vec<u8>, fields: &[Value]) -> usize {
    pad(out, 8, 0);
    let vtable = out.len();
    out.extend_from_slice(&(4 + 2 * fields.len() as u16).to_le_bytes());
    out.extend_from_slice(&(8 + 8 * fields.len() as u16).to_le_bytes());
    for (i, field) in fields.iter().enumerate() {
        let slot = if matches!(field, Value::No) { 0 } else { 8 + 8 * i as u16 };
        out.extend_from_slice(&slot.to_le_bytes());
    }
    pad(out, 8, 0);
    let table = out.len();
    out.extend_from_slice(&((table - vtable) as i32).to_le_bytes());
    out.resize(table + 8 + 8 * fields.len(), 0);
    for (i, field) in fields.iter().enumerate() {
        let slot = table + 8 + 8 * i;
        match field {
            Value::No => {}
            Value::Scalar(number) => out[slot..slot + 8].copy_from_slice(&number.to_le_bytes()),
            _ => {
                let target = put(out, field);
                patch(out, slot, target);
            }
        }
    }
    table
}

fn put(out: &mut Vec<u8>, value: &Value) -> usize {
    match value {
        Value::No | Value::Scalar(_) => unreachable!("stands in its table"),
        Value::Table(fields) => put_table(out, fields),
        Value::Text(text) => {
            let at = put(out, &Value::Structs(text.clone().into_bytes(), 1));
            out.push(0);
            at
        }
        Value::Structs(bytes, element_bytes) => {
            pad(out, 8, 4);
            let at = out.len();
            out.extend_from_slice(&((bytes.len() / element_bytes) as u32).to_le_bytes());
            out.extend_from_slice(bytes);
            at
        }
        Value::Tables(tables) => {
            pad(out, 8, 4);
            let at = out.len();
            out.extend_from_slice(&(tables.len() as u32).to_le_bytes());
            out.resize(at + 4 + 4 * tables.len(), 0);
            for (i, table) in tables.iter().enumerate() {
                let target = put(out, table);
                patch(out, at + 4 + 4 * i, target);
            }
            at
        }
    }
}

/// A FlatBuffer with this root, padded to 8 bytes.
pub(crate) fn flatbuffer(root: &[Value]) -> Vec<u8> {
    let mut out = vec![0; 4];
    let at = put_table(&mut out, root);
    patch(&mut out, 0, at);
    pad(&mut out, 8, 0);
    out
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn words(numbers: &[i64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// A column: its field, and its part of a batch, depth first.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    name: String,
    kind: (u8, Value),
    dictionary: Option<i64>,
    extension: Option<&'static str>,
    children: Vec<Column>,
    rows: usize,
    nulls: i64,
    buffers: Vec<Vec<u8>>,
}

impl Column {
    fn new(name: &str, kind: u8, table: &[Value], rows: usize, buffers: Vec<Vec<u8>>) -> Self {
        let (name, kind) = (name.into(), (kind, Value::Table(table.to_vec())));
        let (dictionary, extension, children) = (None, None, Vec::new());
        Self { name, kind, dictionary, extension, children, rows, nulls: 0, buffers }
    }

    /// Integers of so many bits.
    pub(crate) fn integers(name: &str, bits: i64, signed: bool, values: &[i64]) -> Self {
        let bytes = bits as usize / 8;
        let values_bytes = values.iter().flat_map(|v| v.to_le_bytes()[..bytes].to_vec()).collect();
        let table = [Value::Scalar(bits), Value::Scalar(signed.into())];
        Self::new(name, 2, &table, values.len(), vec![Vec::new(), values_bytes])
    }

    pub(crate) fn floats(name: &str, values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self::new(name, 3, &[Value::Scalar(1)], values.len(), vec![Vec::new(), bytes])
    }

    pub(crate) fn bits(name: &str, values: &[bool]) -> Self {
        let mut bytes = vec![0; values.len().div_ceil(8)];
        values.iter().enumerate().for_each(|(i, &bit)| bytes[i / 8] |= u8::from(bit) << (i % 8));
        Self::new(name, 6, &[], values.len(), vec![Vec::new(), bytes])
    }

    pub(crate) fn moments(name: &str, values: &[i64]) -> Self {
        let table = [Value::Scalar(1), text("UTC")];
        Self::new(name, 10, &table, values.len(), vec![Vec::new(), words(values)])
    }

    pub(crate) fn texts(name: &str, values: &[&str]) -> Self {
        let (mut ends, mut bytes) = (vec![0_i32], Vec::new());
        for value in values {
            bytes.extend_from_slice(value.as_bytes());
            ends.push(bytes.len() as i32);
        }
        let ends = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
        Self::new(name, 5, &[], values.len(), vec![Vec::new(), ends, bytes])
    }

    pub(crate) fn uuids(name: &str, values: &[u128]) -> Self {
        let bytes = values.iter().flat_map(|id| id.to_be_bytes()).collect();
        let table = [Value::Scalar(16)];
        let column = Self::new(name, 15, &table, values.len(), vec![Vec::new(), bytes]);
        Self { extension: Some("minknow.uuid"), ..column }
    }

    /// Coded signal: large binary.
    pub(crate) fn coded(name: &str, values: &[Vec<u8>]) -> Self {
        let mut ends = vec![0];
        values.iter().for_each(|value| ends.push(ends[ends.len() - 1] + value.len() as i64));
        let buffers = vec![Vec::new(), words(&ends), values.concat()];
        let column = Self::new(name, 19, &[], values.len(), buffers);
        Self { extension: Some("minknow.vbz"), ..column }
    }

    /// Lists with these ends; `large` with 64-bit offsets.
    pub(crate) fn lists(name: &str, large: bool, ends: &[usize], element: Column) -> Self {
        let ends = [&[0], ends].concat();
        let offsets = match large {
            true => ends.iter().flat_map(|&end| (end as i64).to_le_bytes()).collect(),
            false => ends.iter().flat_map(|&end| (end as i32).to_le_bytes()).collect(),
        };
        let kind = if large { 21 } else { 12 };
        let column = Self::new(name, kind, &[], ends.len() - 1, vec![Vec::new(), offsets]);
        Self { children: vec![element], ..column }
    }

    /// Maps of texts to texts.
    pub(crate) fn maps(name: &str, ends: &[usize], pairs: &[(&str, &str)]) -> Self {
        let keys: Vec<&str> = pairs.iter().map(|pair| pair.0).collect();
        let values: Vec<&str> = pairs.iter().map(|pair| pair.1).collect();
        let parts = vec![Self::texts("key", &keys), Self::texts("value", &values)];
        let map = Self::lists(name, false, ends, Self::structs("entries", parts));
        Self { kind: (17, Value::Table(Vec::new())), ..map }
    }

    pub(crate) fn structs(name: &str, children: Vec<Column>) -> Self {
        let rows = children.first().map_or(0, |child| child.rows);
        Self { children, ..Self::new(name, 13, &[], rows, vec![Vec::new()]) }
    }

    /// Refers to dictionary `id`, whose values have the type of `values`.
    pub(crate) fn indices(name: &str, id: i64, values: &Column, indices: &[i64]) -> Self {
        let own = Self::integers(name, 16, true, indices);
        let of_values = values.clone();
        let (kind, children) = (of_values.kind, of_values.children);
        Self { kind, children, dictionary: Some(id), ..own }
    }

    /// The same with some values missing.
    pub(crate) fn without(mut self, missing: &[usize]) -> Self {
        let mut bits = vec![0xFF; self.rows.div_ceil(8)];
        missing.iter().for_each(|&row| bits[row / 8] &= !(1 << (row % 8)));
        self.nulls = missing.len() as i64;
        self.buffers[0] = bits;
        self
    }

    pub(crate) fn without_extension(self) -> Self {
        Self { extension: None, ..self }
    }

    fn field(&self) -> Value {
        let dictionary = self.dictionary.map_or(Value::No, |id| {
            let index = Value::Table(vec![Value::Scalar(16), Value::Scalar(1)]);
            Value::Table(vec![Value::Scalar(id), index])
        });
        let metadata = self.extension.map_or(Value::No, |name| {
            let pair = vec![text("ARROW:extension:name"), text(name)];
            Value::Tables(vec![Value::Table(pair)])
        });
        let children = self.children.iter().map(Self::field).collect();
        let (number, kind) = self.kind.clone();
        Value::Table(vec![
            text(&self.name),
            Value::Scalar(1),
            Value::Scalar(number.into()),
            kind,
            dictionary,
            Value::Tables(children),
            metadata,
        ])
    }

    fn lay_out(&self, nodes: &mut Vec<u8>, buffers: &mut Vec<u8>, body: &mut Vec<u8>) {
        nodes.extend_from_slice(&words(&[self.rows as i64, self.nulls]));
        for buffer in &self.buffers {
            buffers.extend_from_slice(&words(&[body.len() as i64, buffer.len() as i64]));
            body.extend_from_slice(buffer);
            pad(body, 8, 0);
        }
        if self.dictionary.is_none() {
            self.children.iter().for_each(|child| child.lay_out(nodes, buffers, body));
        }
    }
}

/// A message of a table.
#[derive(Debug, Clone)]
pub(crate) enum Message {
    Records(Vec<Column>),
    /// Id, whether it adds to what is there, values.
    Dictionary(i64, bool, Column),
}

fn message(message: &Message) -> (Vec<u8>, Vec<u8>) {
    let batch = |columns: &[Column]| {
        let (mut nodes, mut buffers, mut body) = (Vec::new(), Vec::new(), Vec::new());
        columns.iter().for_each(|column| column.lay_out(&mut nodes, &mut buffers, &mut body));
        let rows = Value::Scalar(columns.first().map_or(0, |column| column.rows as i64));
        let table = vec![rows, Value::Structs(nodes, 16), Value::Structs(buffers, 16)];
        (Value::Table(table), body)
    };
    let (kind, header, body) = match message {
        Message::Records(columns) => {
            let (batch, body) = batch(columns);
            (3, batch, body)
        }
        Message::Dictionary(id, is_delta, values) => {
            let (batch, body) = batch(std::slice::from_ref(values));
            let fields = vec![Value::Scalar(*id), batch, Value::Scalar((*is_delta).into())];
            (2, Value::Table(fields), body)
        }
    };
    let body_bytes = Value::Scalar(body.len() as i64);
    let head = flatbuffer(&[Value::Scalar(4), Value::Scalar(kind), header, body_bytes]);
    let prefix = [[0xFF; 4], (head.len() as u32).to_le_bytes()].concat();
    ([prefix, head].concat(), body)
}

/// A table in Arrow's file format. `fields` gives the schema.
pub(crate) fn table(fields: &[Column], messages: &[Message]) -> Vec<u8> {
    let mut out = b"ARROW1\0\0".to_vec();
    let mut blocks = [Vec::new(), Vec::new()];
    for each in messages {
        let (head, body) = message(each);
        let which = usize::from(matches!(each, Message::Records(_)));
        let numbers = [out.len() as i64, head.len() as i64, body.len() as i64];
        blocks[which].extend_from_slice(&words(&numbers));
        out.extend_from_slice(&head);
        out.extend_from_slice(&body);
    }
    let fields = fields.iter().map(Column::field).collect();
    let schema = Value::Table(vec![Value::No, Value::Tables(fields)]);
    let [dictionaries, records] = blocks.map(|blocks| Value::Structs(blocks, 24));
    let footer = flatbuffer(&[Value::Scalar(4), schema, dictionaries, records]);
    out.extend_from_slice(&footer);
    out.extend_from_slice(&(footer.len() as u32).to_le_bytes());
    out.extend_from_slice(b"ARROW1");
    out
}

const SIGNATURE: [u8; 8] = *b"\x8BPOD\r\n\x1A\n";
const MARKER: [u8; 16] = *b"a section marker";

/// A POD5 file of tables with their kind of content (0 reads, 1 signal, 4 runs).
pub(crate) fn container(tables: &[(i64, Vec<u8>)]) -> Vec<u8> {
    let mut out = [SIGNATURE.as_slice(), &MARKER].concat();
    let mut contents = Vec::new();
    for (kind, table) in tables {
        let numbers = [out.len() as i64, table.len() as i64, 0, *kind];
        contents.push(Value::Table(numbers.map(Value::Scalar).to_vec()));
        out.extend_from_slice(table);
        pad(&mut out, 8, 0);
        out.extend_from_slice(&MARKER);
    }
    let root = [text("identifier"), text("test"), text("0.3.49"), Value::Tables(contents)];
    let footer = flatbuffer(&root);
    out.extend_from_slice(b"FOOTER\0\0");
    out.extend_from_slice(&footer);
    out.extend_from_slice(&(footer.len() as i64).to_le_bytes());
    out.extend_from_slice(&MARKER);
    out.extend_from_slice(&SIGNATURE);
    out
}

/// Samples of the reads that the files below hold: read 0 has two rows, read 1 one, read 2 none.
pub(crate) const SAMPLES: [&[i16]; 3] = [&[1, 0, 0, 5, -5], &[i16::MIN], &[]];

/// The Signal table of [`SAMPLES`]: rows of 3, 2 and 1 samples, two rows to a batch.
pub(crate) fn signal_table(compressed: bool) -> Vec<u8> {
    // svb16: keys, then zigzag codes of the steps.
    let coded: [&[u8]; 3] = [&[0, 2, 1, 0], &[0, 10, 19], &[1, 0xFF, 0xFF]];
    let rows: [&[i64]; 3] = [&[1, 0, 0], &[5, -5], &[i16::MIN as i64]];
    let batch = |range: std::ops::Range<usize>| {
        let numbers: Vec<i64> = range.clone().map(|row| rows[row].len() as i64).collect();
        let ids: Vec<u128> = range.clone().map(|row| row as u128 / 2).collect();
        let signal = if compressed {
            let frames = range.map(|row| zstd::bulk::compress(coded[row], 1).unwrap());
            Column::coded("signal", &frames.collect::<Vec<_>>())
        } else {
            let ends: Vec<usize> = numbers
                .iter()
                .scan(0, |end, &n| {
                    *end += n as usize;
                    Some(*end)
                })
                .collect();
            let samples = rows[range].concat();
            Column::lists("signal", true, &ends, Column::integers("item", 16, true, &samples))
        };
        vec![
            Column::uuids("read_id", &ids),
            signal,
            Column::integers("samples", 32, false, &numbers),
        ]
    };
    let (first, last) = (batch(0..2), batch(2..3));
    table(&first.clone(), &[Message::Records(first), Message::Records(last)])
}

fn run_columns(ids: &[&str]) -> Vec<Column> {
    let each = |number: i64| vec![number; ids.len()];
    let ends: Vec<usize> = (0..ids.len()).map(|i| 2 * i + 2).collect();
    let tags = [("tag", "x"), ("run_id", "other")].repeat(ids.len());
    vec![
        Column::texts("acquisition_id", ids),
        Column::moments("acquisition_start_time", &each(1_557_745_903_000)),
        Column::integers("adc_max", 16, true, &each(2047)),
        Column::integers("adc_min", 16, true, &each(-2048)),
        Column::integers("sample_rate", 16, false, &each(4000)),
        Column::maps("tracking_id", &ends, &tags),
    ]
}

/// The newest version: dictionaries in two parts and replaced before the second batch, missing
/// values.
pub(crate) fn newest(compressed: bool) -> Vec<u8> {
    let (pores, reasons) = (Column::texts("", &["p"]), Column::texts("", &["paused"]));
    let (runs, more_runs) = (Column::texts("", &["run a"]), Column::texts("", &["run b"]));
    let list = |ends: &[usize], rows: &[i64]| {
        Column::lists("signal", false, ends, Column::integers("item", 64, false, rows))
    };
    let batch = |ids: &[u128], signal: Column, samples: &[i64], run: &[i64]| {
        let n = ids.len();
        let each = |number: i64| vec![number; n];
        vec![
            Column::uuids("read_id", ids),
            signal,
            Column::integers("unknown to us", 8, false, &each(1)),
            Column::integers("read_number", 32, false, &each(7)),
            Column::integers("start", 64, false, &each(1 << 40)),
            Column::floats("median_before", &vec![201.5; n]).without(&[n - 1]),
            Column::integers("num_samples", 64, false, samples),
            Column::integers("channel", 16, false, &each(3)),
            Column::integers("channel_32bit", 32, false, &each(70_000)),
            Column::integers("well", 8, false, &each(2)),
            Column::indices("pore_type", 0, &pores, &each(0)),
            Column::floats("calibration_offset", &vec![-3.0; n]),
            Column::floats("calibration_scale", &vec![0.5; n]),
            Column::indices("end_reason", 1, &reasons, &each(0)),
            Column::bits("end_reason_forced", &vec![true; n]),
            Column::indices("run_info", 2, &runs, run),
        ]
    };
    let first = batch(&[0, 1], list(&[2, 3], &[0, 1, 2]), &[5, 1], &[0, 1]);
    let second = batch(&[2], list(&[0], &[]), &[0], &[0]);
    let replaced = Column::texts("", &["no known reason", "signal_positive"]);
    let reads = table(
        &first.clone(),
        &[
            Message::Dictionary(0, false, pores),
            Message::Dictionary(1, false, reasons),
            Message::Dictionary(2, false, runs),
            Message::Dictionary(2, true, more_runs),
            Message::Records(first),
            Message::Dictionary(1, false, replaced),
            Message::Records(second),
        ],
    );
    let runs = run_columns(&["run a", "run b"]);
    let runs = table(&runs.clone(), &[Message::Records(runs)]);
    container(&[(1, signal_table(compressed)), (4, runs), (0, reads)])
}

/// Version 0: structures in dictionaries, no table of runs.
pub(crate) fn oldest() -> Vec<u8> {
    let calibration = Column::structs(
        "",
        vec![Column::floats("offset", &[9.0, -3.0]), Column::floats("scale", &[9.0, 0.5])],
    );
    let pore = Column::structs(
        "",
        vec![
            Column::integers("channel", 16, false, &[3]),
            Column::integers("well", 8, false, &[2]),
            Column::texts("pore_type", &["p"]),
        ],
    );
    let reason = Column::structs(
        "",
        vec![Column::texts("name", &["paused"]), Column::bits("forced", &[true])],
    );
    let run = Column::structs("", run_columns(&["run a", "run b"]));
    let rows = Column::integers("item", 64, false, &[0, 1, 2]);
    let reads = vec![
        Column::uuids("read_id", &[0, 1, 2]),
        Column::lists("signal", false, &[2, 3, 3], rows),
        Column::indices("pore", 0, &pore, &[0, 0, 0]),
        Column::indices("calibration", 1, &calibration, &[1, 1, 1]),
        Column::integers("read_number", 32, false, &[7, 7, 7]),
        Column::integers("start", 64, false, &[1 << 40; 3]),
        Column::floats("median_before", &[201.5; 3]).without(&[1]),
        Column::indices("end_reason", 2, &reason, &[0, 0, 0]),
        Column::indices("run_info", 3, &run, &[0, 1, 0]),
    ];
    let messages = [
        Message::Dictionary(0, false, pore),
        Message::Dictionary(1, false, calibration),
        Message::Dictionary(2, false, reason),
        Message::Dictionary(3, false, run),
        Message::Records(reads.clone()),
    ];
    container(&[(1, signal_table(true)), (0, table(&reads, &messages))])
}
