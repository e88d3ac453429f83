//! What rows of several kinds take under each codec, and how fast they get there and back.

mod inputs;
mod measure;

pub use farbird_record::CodecId;
pub use inputs::{Input, UnknownInput};
pub use measure::{Figures, Measurement, Plan, measure};
