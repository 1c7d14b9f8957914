//! One read as Python has it.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use seqloom_format::signal::{AuxiliaryField, AuxiliaryType, SignalRead};

/// Samples of a read. numpy makes an array of this memory (`numpy.asarray`), which it keeps alive;
/// nobody can write to it. The buffer protocol is not part of the stable ABI of Python 3.10.
#[pyclass(frozen, module = "seqloom._native")]
pub(crate) struct Samples(Vec<i16>);

#[pymethods]
impl Samples {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The array interface of numpy, version 3: an address and what is there.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let kind = if cfg!(target_endian = "big") { ">i2" } else { "<i2" };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.0.len(),))?;
        interface.set_item("typestr", kind)?;
        interface.set_item("data", (self.0.as_ptr().addr(), true))?;
        Ok(interface)
    }
}

/// A read.
#[pyclass(frozen, module = "seqloom._native")]
pub(crate) struct Read {
    /// Its id.
    #[pyo3(get)]
    read_id: String,
    /// Number of its read group.
    #[pyo3(get)]
    read_group: u32,
    /// Levels of the converter.
    #[pyo3(get)]
    digitisation: f64,
    /// Added to each sample.
    #[pyo3(get)]
    offset: f64,
    /// Full scale in picoampere.
    #[pyo3(get)]
    range: f64,
    /// Samples per second.
    #[pyo3(get)]
    sampling_rate: f64,
    /// The samples.
    #[pyo3(get)]
    samples: Py<Samples>,
    /// Fields of the file by name; what is missing is None.
    #[pyo3(get)]
    auxiliary: Py<PyDict>,
}

impl Read {
    /// Takes a read over; `fields` are those of its file.
    pub(crate) fn new(
        py: Python<'_>,
        read: SignalRead,
        fields: &[AuxiliaryField],
    ) -> PyResult<Self> {
        let auxiliary = PyDict::new(py);
        for (at, field) in fields.iter().enumerate() {
            let name = PyString::new(py, &String::from_utf8_lossy(&field.name));
            auxiliary.set_item(name, value(py, field, read.auxiliary.get(at))?)?;
        }
        Ok(Self {
            read_id: String::from_utf8_lossy(&read.read_id).into_owned(),
            read_group: read.read_group,
            digitisation: read.digitisation,
            offset: read.offset,
            range: read.range,
            sampling_rate: read.sampling_rate,
            samples: Py::new(py, Samples(read.samples))?,
            auxiliary: auxiliary.unbind(),
        })
    }
}

/// What cannot be read, and where.
#[pyclass(frozen, module = "seqloom._native")]
pub(crate) struct Fault {
    /// The file.
    #[pyo3(get)]
    file: String,
    /// The read's id, where that much could be read.
    #[pyo3(get)]
    read_id: Option<String>,
    /// Where its record begins.
    #[pyo3(get)]
    byte: Option<u64>,
    /// What is wrong, after its place.
    #[pyo3(get)]
    message: String,
}

impl Fault {
    pub(crate) fn new(fault: &seqloom_signal::flow::Fault) -> Self {
        Self {
            file: fault.path.display().to_string(),
            read_id: fault.read_id.as_ref().map(|id| String::from_utf8_lossy(id).into_owned()),
            byte: fault.offset,
            message: fault.to_string(),
        }
    }
}

/// A value of a field as an object.
fn value(py: Python<'_>, field: &AuxiliaryField, bytes: &[u8]) -> PyResult<Py<PyAny>> {
    let is_text = matches!(field.kind, AuxiliaryType::Char);
    if is_text {
        return match bytes {
            b"" | b"\0" => Ok(py.None()),
            text => String::from_utf8_lossy(text).into_py_any(py),
        };
    }
    if field.is_array {
        let elements = bytes.chunks_exact(field.kind.size_bytes());
        let elements: Vec<_> =
            elements.map(|it| number(py, &field.kind, it)).collect::<PyResult<_>>()?;
        return PyList::new(py, elements)?.into_py_any(py);
    }
    if bytes == field.kind.missing().as_slice() || bytes.is_empty() {
        return Ok(py.None());
    }
    number(py, &field.kind, bytes)
}

/// A number, or the label of an enum, from its little-endian bytes.
fn number(py: Python<'_>, kind: &AuxiliaryType, bytes: &[u8]) -> PyResult<Py<PyAny>> {
    fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.first_chunk().copied().unwrap_or([0; N])
    }
    match kind {
        AuxiliaryType::I8 => i8::from_le_bytes(fixed(bytes)).into_py_any(py),
        AuxiliaryType::I16 => i16::from_le_bytes(fixed(bytes)).into_py_any(py),
        AuxiliaryType::I32 => i32::from_le_bytes(fixed(bytes)).into_py_any(py),
        AuxiliaryType::I64 => i64::from_le_bytes(fixed(bytes)).into_py_any(py),
        AuxiliaryType::U8 | AuxiliaryType::Char => fixed::<1>(bytes)[0].into_py_any(py),
        AuxiliaryType::U16 => u16::from_le_bytes(fixed(bytes)).into_py_any(py),
        AuxiliaryType::U32 => u32::from_le_bytes(fixed(bytes)).into_py_any(py),
        AuxiliaryType::U64 => u64::from_le_bytes(fixed(bytes)).into_py_any(py),
        AuxiliaryType::F32 => f32::from_le_bytes(fixed(bytes)).into_py_any(py),
        AuxiliaryType::F64 => f64::from_le_bytes(fixed(bytes)).into_py_any(py),
        AuxiliaryType::Enum(labels) => {
            let label = labels.get(usize::from(fixed::<1>(bytes)[0]));
            label.map(|label| String::from_utf8_lossy(label)).into_py_any(py)
        }
    }
}
