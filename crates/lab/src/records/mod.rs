//! What rows of several kinds take under each codec, and how fast they get there and back.

mod inputs;
mod measure;

pub use farbird_record::CodecId;
pub(crate) use inputs::{CITIES, COUNTRIES, FIRST_NAMES, LAST_NAMES, STATES, STREETS, TEXT};
pub use inputs::{Input, UnknownInput};
pub use measure::{Figures, Measurement, Plan, measure};
