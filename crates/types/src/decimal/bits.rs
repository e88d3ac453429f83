//! The bit layouts of decimal64 and decimal128 with densely packed decimal digits.
//!
//! Both are: sign (1 bit), combination (5 bits: two bits of the exponent and the first digit, or a special), the rest
//! of the exponent (8 or 12 bits), then groups of three digits in ten bits ("declets").

use super::DecimalParts;

/// What differs between the two sizes.
struct Layout {
    bits: u32,
    exponent_bits: u32,
    declets: u32,
    bias: i32,
}

const DECIMAL64: Layout = Layout { bits: 64, exponent_bits: 8, declets: 5, bias: 398 };
const DECIMAL128: Layout = Layout { bits: 128, exponent_bits: 12, declets: 11, bias: 6176 };

const COMBINATION_INFINITY: u128 = 0b11110;
const COMBINATION_NAN: u128 = 0b11111;

pub(super) fn unpack_128(bits: u128) -> DecimalParts {
    unpack(bits, &DECIMAL128)
}

pub(super) fn unpack_64(bits: u64) -> DecimalParts {
    unpack(u128::from(bits), &DECIMAL64)
}

pub(super) fn pack_128(parts: DecimalParts) -> u128 {
    pack(parts, &DECIMAL128)
}

/// Packs a number that has been rounded to 16 digits.
pub(super) fn pack_64(parts: DecimalParts) -> u64 {
    // The layout has 64 bits: the mask takes nothing away.
    (pack(parts, &DECIMAL64) & u128::from(u64::MAX)) as u64
}

fn unpack(bits: u128, layout: &Layout) -> DecimalParts {
    let negative = bits >> (layout.bits - 1) & 1 == 1;
    let combination = bits >> (layout.bits - 6) & 0b11111;
    let coefficient_bits = layout.declets * 10;
    let exponent_low = bits >> coefficient_bits & ((1 << layout.exponent_bits) - 1);
    if combination == COMBINATION_INFINITY {
        return DecimalParts::Infinity { negative };
    }
    if combination == COMBINATION_NAN {
        let signaling = exponent_low >> (layout.exponent_bits - 1) == 1;
        return DecimalParts::Nan { negative, signaling };
    }
    // 8 and 9 have their own pattern: 11ee d, otherwise ee ddd.
    let (exponent_high, first_digit) = if combination >> 3 == 0b11 {
        (combination >> 1 & 0b11, 8 + (combination & 1))
    } else {
        (combination >> 3, combination & 0b111)
    };
    let mut coefficient = first_digit;
    for group in (0..layout.declets).rev() {
        let declet = bits >> (group * 10) & 0x3FF;
        coefficient = coefficient * 1000 + digits_of_declet(declet);
    }
    // At most 14 bits.
    let exponent = (exponent_high << layout.exponent_bits | exponent_low) as i32 - layout.bias;
    DecimalParts::Finite { negative, coefficient, exponent }
}

fn pack(parts: DecimalParts, layout: &Layout) -> u128 {
    let combination_at = layout.bits - 6;
    match parts {
        DecimalParts::Infinity { negative } => {
            sign(negative, layout) | COMBINATION_INFINITY << combination_at
        }
        DecimalParts::Nan { negative, signaling } => {
            let signal = u128::from(signaling) << (combination_at - 1);
            sign(negative, layout) | COMBINATION_NAN << combination_at | signal
        }
        DecimalParts::Finite { negative, coefficient, exponent } => {
            let mut rest = coefficient;
            let mut bits = 0;
            for group in 0..layout.declets {
                bits |= declet_of_digits(rest % 1000) << (group * 10);
                rest /= 1000;
            }
            let first_digit = rest % 10;
            // Callers keep the exponent in the layout's range.
            let biased = (exponent + layout.bias).max(0).unsigned_abs();
            let exponent_high = u128::from(biased >> layout.exponent_bits) & 0b11;
            let exponent_low = u128::from(biased) & ((1 << layout.exponent_bits) - 1);
            let combination = if first_digit >= 8 {
                0b11000 | exponent_high << 1 | (first_digit & 1)
            } else {
                exponent_high << 3 | first_digit
            };
            sign(negative, layout)
                | combination << combination_at
                | exponent_low << (layout.declets * 10)
                | bits
        }
    }
}

fn sign(negative: bool, layout: &Layout) -> u128 {
    u128::from(negative) << (layout.bits - 1)
}

/// Three digits (0 to 999) in ten bits. A digit up to 7 takes three bits, 8 and 9 one bit and a mark.
///
/// Source: Cowlishaw, "Densely packed decimal encoding" (2002), table 1.
const fn declet_of_digits(digits: u128) -> u128 {
    let (a, b, c) = (digits / 100 % 10, digits / 10 % 10, digits % 10);
    match (a > 7, b > 7, c > 7) {
        (false, false, false) => a << 7 | b << 4 | c,
        (false, false, true) => a << 7 | b << 4 | 0b1000 | c & 1,
        (false, true, false) => a << 7 | (c >> 1) << 5 | (b & 1) << 4 | 0b1010 | c & 1,
        (true, false, false) => (c >> 1) << 8 | (a & 1) << 7 | b << 4 | 0b1100 | c & 1,
        (true, true, false) => (c >> 1) << 8 | (a & 1) << 7 | (b & 1) << 4 | 0b0000_1110 | c & 1,
        (true, false, true) => (b >> 1) << 8 | (a & 1) << 7 | 0b010_0000 | (b & 1) << 4 | 0b1110 | c & 1,
        (false, true, true) => a << 7 | 0b100_0000 | (b & 1) << 4 | 0b1110 | c & 1,
        (true, true, true) => (a & 1) << 7 | 0b110_0000 | (b & 1) << 4 | 0b1110 | c & 1,
    }
}

/// The three digits of ten bits; the 24 patterns that no encoder writes read as what their other bits say.
const fn digits_of_declet(declet: u128) -> u128 {
    let a3 = declet >> 7 & 0b111;
    let b3 = declet >> 4 & 0b111;
    let c3 = declet & 0b111;
    let (a1, b1, c1) = (a3 & 1, b3 & 1, c3 & 1);
    let (a, b, c) = if declet & 0b1000 == 0 {
        (a3, b3, c3)
    } else {
        match (declet >> 1 & 0b11, declet >> 5 & 0b11) {
            (0b00, _) => (a3, b3, 8 + c1),
            (0b01, high) => (a3, 8 + b1, high << 1 | c1),
            (0b10, _) => (8 + a1, b3, (a3 & 0b110) | c1),
            (_, 0b00) => (8 + a1, 8 + b1, (a3 & 0b110) | c1),
            (_, 0b01) => (8 + a1, (a3 & 0b110) | b1, 8 + c1),
            (_, 0b10) => (a3, 8 + b1, 8 + c1),
            (_, _) => (8 + a1, 8 + b1, 8 + c1),
        }
    };
    a * 100 + b * 10 + c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_of_three_digits_comes_back() {
        for digits in 0..1000 {
            assert_eq!(digits_of_declet(declet_of_digits(digits)), digits);
        }
    }

    #[test]
    fn groups_are_those_of_the_paper() {
        for (digits, declet) in [
            (5, 0x005),
            (9, 0x009),
            (55, 0x055),
            (79, 0x079),
            (80, 0x00A),
            (99, 0x05F),
            (555, 0x2D5),
            (999, 0x0FF),
        ] {
            assert_eq!(declet_of_digits(digits), declet, "{digits}");
        }
    }
}
