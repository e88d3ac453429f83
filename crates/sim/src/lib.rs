//! A disk that tests own: it remembers what was written and synced, so that any number of power cuts can be played from
//! one run, and it fails on demand.
//!
//! # Place
//! For tests only; no crate depends on it outside its dev-dependencies.
#![forbid(unsafe_code)]

mod disk;
mod image;
mod random;
mod recording;

pub use disk::{Call, Fault, SimulatedDisk};
pub use image::Image;
pub use random::Random;
pub use recording::{Operation, Recording};
