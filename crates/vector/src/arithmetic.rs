//! What loops do with numbers: the result, and whether the row fails.

use std::cmp::Ordering;

/// The remainder by one divisor of many numbers: two multiplications instead of a division, for numbers of 32 bits.
///
/// Source: Lemire, Kaser, Kurz, "Faster remainder by direct computation" (2019).
#[derive(Debug, Clone, Copy)]
pub struct Divisor {
    divisor: i64,
    /// 2^64 / |divisor|, rounded up; 0 if the divisor has more than 32 bits.
    inverse: u64,
}

impl Divisor {
    /// For a divisor that is not 0.
    #[inline]
    pub fn new(divisor: i64) -> Divisor {
        let magnitude = divisor.unsigned_abs();
        let inverse = match u32::try_from(magnitude) {
            Ok(magnitude @ 2..) => u64::MAX / u64::from(magnitude) + 1,
            _ => 0,
        };
        Divisor { divisor, inverse }
    }

    /// The remainder, with the sign of `number`.
    #[inline]
    pub fn remainder(self, number: i64) -> i64 {
        let magnitude = number.unsigned_abs();
        if self.inverse == 0 || magnitude > u64::from(u32::MAX) {
            return number.wrapping_rem(self.divisor);
        }
        let fraction = u128::from(self.inverse.wrapping_mul(magnitude));
        let rest = ((fraction * u128::from(self.divisor.unsigned_abs())) >> 64) as i64;
        if number < 0 { -rest } else { rest }
    }
}

/// The remainder of a division, and whether it fails.
#[inline]
pub fn remainder(number: i64, divisor: i64) -> (i64, bool) {
    if divisor == 0 { (0, true) } else { (number.wrapping_rem(divisor), false) }
}

/// The quotient without decimal places, and whether the division fails.
#[inline]
pub fn quotient(number: i64, divisor: i64) -> (i64, bool) {
    match number.checked_div(divisor) {
        Some(quotient) => (quotient, false),
        None => (0, true),
    }
}

/// Divided by a positive power of ten, rounded half away from zero.
#[inline]
pub fn rounded(number: i64, power: i64) -> i64 {
    let (quotient, rest) = (number / power, number % power);
    let away = rest.unsigned_abs() >= power.unsigned_abs().div_ceil(2);
    if away { quotient + number.signum() } else { quotient }
}

/// The order of doubles: NaN is equal to itself and above everything.
#[inline]
pub fn order_of_doubles(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn remainders_are_those_of_division(
            number in prop_oneof![any::<i64>(), any::<i32>().prop_map(i64::from), -10i64..10],
            divisor in prop_oneof![any::<i64>(), any::<i32>().prop_map(i64::from), -10i64..10],
        ) {
            prop_assume!(divisor != 0);
            prop_assert_eq!(Divisor::new(divisor).remainder(number), number.wrapping_rem(divisor));
        }
    }
}
