//! Hands on.

mod first;

pub(crate) use first::{First, other as renamed};
