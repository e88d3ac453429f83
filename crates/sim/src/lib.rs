//! A disk that tests own: it loses, tears and refuses writes on demand.
//!
//! # Place
//! For tests only; no crate depends on it outside its dev-dependencies.
#![forbid(unsafe_code)]
