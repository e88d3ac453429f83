//! Between decimal64, in which DECFLOAT(16) travels, and the decimal128 bits that [`Decimal`] holds.
//!
//! Both encodings pack three digits into each ten bits (densely packed decimal), so widening copies those declets and
//! moves the exponent; narrowing is possible only for a value that has 16 digits and an exponent in range, which
//! is what conversion to DECFLOAT(16) leaves.
//! Source: IEEE 754-2008, 3.5.2.

use farbird_types::decimal::Decimal;

/// Layout of one of the two formats.
struct Layout {
    /// Bits of the exponent that follow the combination field.
    exponent_bits: u32,
    /// Bits of the declets.
    declet_bits: u32,
    bias: i32,
}

const DECIMAL64: Layout = Layout { exponent_bits: 8, declet_bits: 50, bias: 398 };
const DECIMAL128: Layout = Layout { exponent_bits: 12, declet_bits: 110, bias: 6176 };

/// A decimal taken apart; special values (infinities, NaNs) keep their combination field.
struct Parts {
    negative: bool,
    special: Option<u128>,
    exponent: i32,
    first_digit: u128,
    declets: u128,
}

impl Layout {
    fn split(&self, bits: u128) -> Parts {
        let total = 1 + 5 + self.exponent_bits + self.declet_bits;
        let negative = bits >> (total - 1) & 1 == 1;
        let combination = bits >> (total - 6) & 0x1F;
        let continuation = bits >> self.declet_bits & ((1 << self.exponent_bits) - 1);
        let declets = bits & ((1 << self.declet_bits) - 1);
        let (high, first_digit) = match combination >> 3 {
            0b11 => (combination >> 1 & 3, 8 + (combination & 1)),
            high => (high, combination & 7),
        };
        // Infinity is 11110, NaN 11111; the exponent's first bit then tells quiet from signalling.
        let special =
            (combination >= 0x1E).then(|| combination << 1 | continuation >> (self.exponent_bits - 1));
        let biased = i32::try_from(high << self.exponent_bits | continuation).unwrap_or(0);
        Parts { negative, special, exponent: biased - self.bias, first_digit, declets }
    }

    fn join(&self, parts: &Parts) -> Option<u128> {
        let total = 1 + 5 + self.exponent_bits + self.declet_bits;
        let sign = u128::from(parts.negative) << (total - 1);
        if let Some(special) = parts.special {
            return Some(sign | special << (total - 7) | parts.declets);
        }
        let biased = u128::try_from(parts.exponent + self.bias).ok()?;
        let high = biased >> self.exponent_bits;
        if high > 2 {
            return None;
        }
        let combination = if parts.first_digit >= 8 {
            0x18 | high << 1 | (parts.first_digit & 1)
        } else {
            high << 3 | parts.first_digit
        };
        let continuation = biased & ((1 << self.exponent_bits) - 1);
        Some(sign | combination << (total - 6) | continuation << self.declet_bits | parts.declets)
    }
}

/// The decimal128 value of decimal64 bits.
pub(super) fn widen(bits: u64) -> Decimal {
    let mut parts = DECIMAL64.split(u128::from(bits));
    if parts.special.is_none() {
        // A single digit is its own declet.
        parts.declets |= parts.first_digit << DECIMAL64.declet_bits;
        parts.first_digit = 0;
    }
    // The exponent range of decimal64 lies within that of decimal128.
    Decimal(DECIMAL128.join(&parts).unwrap_or(0))
}

/// The decimal64 bits of a value that has at most 16 digits and fits the exponent range.
pub(super) fn narrow(value: Decimal) -> Option<u64> {
    let mut parts = DECIMAL128.split(value.0);
    let upper = parts.declets >> DECIMAL64.declet_bits;
    parts.declets &= (1 << DECIMAL64.declet_bits) - 1;
    if parts.special.is_none() {
        if parts.first_digit != 0 || upper > 9 {
            return None;
        }
        parts.first_digit = upper;
    }
    u64::try_from(DECIMAL64.join(&parts)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_widen_and_narrow() {
        // 1, -1.5, 9999999999999999 and infinity, from the General Decimal Arithmetic test cases' encodings.
        for (narrow_bits, wide_bits) in [
            (0x2238_0000_0000_0001, 0x2208_0000_0000_0000_0000_0000_0000_0001),
            (0xA234_0000_0000_0015, 0xA207_C000_0000_0000_0000_0000_0000_0015),
            (0x7800_0000_0000_0000, 0x7800_0000_0000_0000_0000_0000_0000_0000),
            (0x7C00_0000_0000_0000, 0x7C00_0000_0000_0000_0000_0000_0000_0000),
            (0x7E00_0000_0000_0000, 0x7E00_0000_0000_0000_0000_0000_0000_0000),
        ] {
            assert_eq!(widen(narrow_bits), Decimal(wide_bits), "{narrow_bits:#x}");
            assert_eq!(narrow(Decimal(wide_bits)), Some(narrow_bits), "{narrow_bits:#x}");
        }
    }

    #[test]
    fn values_of_more_than_sixteen_digits_do_not_narrow() {
        let seventeen_digits = Decimal(0x2208_0000_0000_0000_0000_0000_0000_0000 | 1 << 54);
        assert_eq!(narrow(seventeen_digits), None);
    }

    #[test]
    fn every_exponent_and_leading_digit_survives() {
        for step in 0..4096_u64 {
            let bits = step << 51 | 0x123;
            let parts = DECIMAL64.split(u128::from(bits));
            if parts.special.is_none() {
                assert_eq!(narrow(widen(bits)), Some(bits), "{bits:#x}");
            }
        }
    }
}
