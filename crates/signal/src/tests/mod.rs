//! Against the referees, on real and on made data.

mod fast5;
mod pod5;
mod roundtrip;
mod store;
