//! Columns of text, as UTF-8 or as bytes.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{BinaryBuilder, StringBuilder};
use arrow_schema::DataType;

/// How text of the input is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextType {
    /// As UTF-8: other text is refused.
    #[default]
    Utf8,
    /// As bytes, whatever they are.
    Binary,
}

impl TextType {
    /// The type of its columns.
    pub(crate) fn data_type(self) -> DataType {
        match self {
            Self::Utf8 => DataType::Utf8,
            Self::Binary => DataType::Binary,
        }
    }
}

/// Values of a column of text.
pub(crate) enum TextBuilder {
    Utf8(StringBuilder),
    Binary(BinaryBuilder),
}

impl TextBuilder {
    pub(crate) fn new(kind: TextType) -> Self {
        match kind {
            TextType::Utf8 => Self::Utf8(StringBuilder::new()),
            TextType::Binary => Self::Binary(BinaryBuilder::new()),
        }
    }

    /// Appends a text; what is wrong with it, if it is not UTF-8 and has to be.
    pub(crate) fn append(&mut self, text: &[u8]) -> Result<(), String> {
        match self {
            Self::Utf8(builder) => builder.append_value(utf8(text)?),
            Self::Binary(builder) => builder.append_value(text),
        }
        Ok(())
    }

    pub(crate) fn append_null(&mut self) {
        match self {
            Self::Utf8(builder) => builder.append_null(),
            Self::Binary(builder) => builder.append_null(),
        }
    }

    pub(crate) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Utf8(builder) => Arc::new(builder.finish()),
            Self::Binary(builder) => Arc::new(builder.finish()),
        }
    }
}

/// Text that has to be UTF-8.
pub(crate) fn utf8(text: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(text).map_err(|_| {
        let shown = String::from_utf8_lossy(text).escape_debug().to_string();
        format!("'{shown}' is not UTF-8; with --binary text is given as bytes")
    })
}
