//! The machine with a played origin.
