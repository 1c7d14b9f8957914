//! A queue from one thread to one other, and sleep until code without locks has changed something:
//! what a farm of workers is made of (Misale 2014). The product claims its work instead.

pub mod ring;
pub mod wake_up;
