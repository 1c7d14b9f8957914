//! Makes a table of `pore_model/tables` from a model in text:
//! `cargo run -p seqloom-signal --example pack_model -- MODEL.model TABLE.f64`.

use std::error::Error;

use seqloom_calling::pore_model::{ModelRequest, builtin, text};

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    let [from, to] = paths.as_slice() else {
        return Err("two paths are needed: a model in text, and the table to be written".into());
    };
    let model = text::parse(&std::fs::read(from)?, &ModelRequest::default())?;
    std::fs::write(to, builtin::pack(&model))?;
    Ok(())
}
