//! Waiting for pipes that have nothing now.

use std::sync::Mutex;
use std::time::Duration;

use super::error::InputError;
use super::poll;
use super::raw::Input;

/// How long a worker waits before it looks for other work.
pub(crate) const POLL_TIME: Duration = Duration::from_millis(20);

/// How long one wait takes of who has no other work.
pub(crate) const WAIT: Duration = Duration::from_millis(200);

/// Waits up to `time` until one of `inputs`, of which there are at most [`poll::MAX_FILES`], can be
/// read; whether one can.
pub(crate) fn wait(inputs: &[&Input], time: Duration) -> Result<bool, InputError> {
    let files: Vec<_> = inputs.iter().map(|input| &*input.file).collect();
    match (poll::readable(&files, time), inputs.first()) {
        (Ok(ready), _) => Ok(ready.contains(&true)),
        (Err(error), Some(input)) => Err(input.read_error(0, error)),
        (Err(_), None) => Ok(false),
    }
}

/// Where workers wait for data, one at a time.
#[derive(Default)]
pub(crate) struct WaitingPlace(Mutex<()>);

impl WaitingPlace {
    /// Waits a while for one of `inputs`; `false`, at once, where another worker waits already or
    /// there are none. After a wait a further look is worth while, even if nothing came.
    pub(crate) fn wait(&self, inputs: &[&Input]) -> Result<bool, InputError> {
        let Ok(_place) = self.0.try_lock() else { return Ok(false) };
        if inputs.is_empty() {
            return Ok(false);
        }
        wait(inputs, POLL_TIME)?;
        Ok(true)
    }
}
