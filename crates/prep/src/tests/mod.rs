//! Against the referees, on real and on made data.

mod gatk;
mod orders;
mod steps;
