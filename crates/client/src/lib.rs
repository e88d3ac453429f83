//! The driver: connects to any server that speaks the Firebird protocol.
//!
//! # Place
//! Uses `types` and `wire`; knows nothing of the engine. Blocking.
#![forbid(unsafe_code)]
