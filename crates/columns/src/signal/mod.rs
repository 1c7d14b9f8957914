//! Raw signal, SLOW5, BLOW5, FAST5 or POD5, as columns.

mod auxiliary;
mod columns;
mod table;

use std::path::PathBuf;
use std::sync::Arc;

use seqloom_signal::store::{self, OpenOptions, SignalStore};

use self::columns::Columns;
use self::table::SignalTable;
use crate::error::ColumnsError;
use crate::flow::{self, Destination, Totals};

/// Writes the stream of all reads of `inputs`, one file after the other: the columns that are named
/// in `requested`, or all. A read that cannot be decoded ends the stream.
///
/// # Errors
/// The first failure of any worker; a column that no input has.
pub fn write(
    inputs: &[PathBuf],
    options: &OpenOptions,
    requested: Option<&[String]>,
    destination: Destination<'_>,
) -> Result<Totals, ColumnsError> {
    let open = |path: &PathBuf| store::open(path, options);
    let stores: Vec<Arc<dyn SignalStore>> = inputs.iter().map(open).collect::<Result<_, _>>()?;
    let columns = Columns::new(&stores, requested)?;
    flow::run(&SignalTable::new(stores, columns), destination)
}
