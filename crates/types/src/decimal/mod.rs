//! DECFLOAT: decimal floating point of 16 or 34 digits (IEEE 754-2008 decimal64 and decimal128).

/// A decimal floating-point number of up to 34 digits, kept as its decimal128 bits (DPD encoding, big-endian value).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal(pub u128);
