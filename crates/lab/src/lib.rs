//! Experiments: workloads and side-by-side measurements, as `farbird bench` runs them.
//!
//! # Place
//! Above the codecs and the client. Measures and returns figures; printing them is the binary's work. `unsafe` stands in
//! one place, `kernel::tun`, which says why.

pub mod articles;
pub mod contest;
pub mod endless;
mod failure;
pub mod kernel;
pub mod link;
mod random;
pub mod records;
pub mod report;
pub mod sql;

pub use failure::{Failure, Result};
/// The driver on a virtual clock: exact round trips and times, without a link that really delays.
pub use farbird_client::virtual_clock;
