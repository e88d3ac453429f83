//! The catalog: everything that a database says about itself.
//!
//! A [`Catalog`] is an immutable value behind an `Arc`: a transaction holds the one it started with (or the one its
//! own DDL made of it), so other people's DDL never moves under it. DDL makes a copy with some objects replaced; the
//! commit applies the same replacements to the newest committed catalog and publishes it together with the commit.
//!
//! Objects are stored one per key in the store's catalog space, as JSON: small, readable, and able to grow fields.

pub mod model;

pub use model::*;
