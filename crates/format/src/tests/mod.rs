//! Against the referees, on real and on made data.

mod base_modifications;
mod slow5;
