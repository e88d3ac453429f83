//! Farbird, a Firebird-compatible SQL database, inside your program.
//!
//! # Place
//! The public face of the library; the binary beside it is one of its users.
#![forbid(unsafe_code)]
