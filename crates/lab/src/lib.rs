//! Experiments: workloads and side-by-side measurements, as `farbird bench` runs them.
//!
//! # Place
//! Above the codecs and the client. Measures and returns figures; printing them is the binary's work.
#![forbid(unsafe_code)]

pub mod contest;
pub mod endless;
pub mod records;
