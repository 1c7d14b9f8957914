//! Many cores: threads, memory, failure, order and time. Knows no biology.

pub mod failure;
pub mod machine;
pub mod memory;
pub mod monitor;
pub mod order;
pub mod placement;
pub mod pool;
pub mod schedule;
mod sys;
pub mod topology;
pub mod trace;
pub mod turnstile;
