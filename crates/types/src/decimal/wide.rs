//! Whole numbers of 256 bits, as far as products and quotients of 34 digits need them.

use std::cmp::Ordering;

/// An unsigned number of 256 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wide {
    high: u128,
    low: u128,
}

impl From<u128> for Wide {
    fn from(low: u128) -> Wide {
        Wide { high: 0, low }
    }
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Wide) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Wide {
    fn cmp(&self, other: &Wide) -> Ordering {
        (self.high, self.low).cmp(&(other.high, other.low))
    }
}

impl Wide {
    /// The lower 128 bits.
    pub(super) fn low(self) -> u128 {
        self.low
    }

    /// Whether this is 0.
    pub(super) fn is_zero(self) -> bool {
        self.high == 0 && self.low == 0
    }

    /// Whether this needs more than 128 bits.
    pub(super) fn is_wide(self) -> bool {
        self.high != 0
    }

    /// The product of two halves, which always fits.
    pub(super) fn product(a: u128, b: u128) -> Wide {
        const HALF: u128 = u64::MAX as u128;
        let (a1, a0, b1, b0) = (a >> 64, a & HALF, b >> 64, b & HALF);
        let low = a0 * b0;
        let middle = a1 * b0 + (low >> 64);
        let middle_low = (middle & HALF) + a0 * b1;
        Wide { high: a1 * b1 + (middle >> 64) + (middle_low >> 64), low: middle_low << 64 | low & HALF }
    }

    /// This times ten to the `power`; the caller knows that it fits.
    pub(super) fn times_power_of_ten(self, power: u32) -> Wide {
        let mut result = self;
        for _ in 0..power {
            let low = Wide::product(result.low, 10);
            result = Wide { high: result.high.wrapping_mul(10).wrapping_add(low.high), low: low.low };
        }
        result
    }

    pub(super) fn plus(self, other: Wide) -> Wide {
        let (low, carry) = self.low.overflowing_add(other.low);
        Wide { high: self.high.wrapping_add(other.high).wrapping_add(u128::from(carry)), low }
    }

    /// This less a number that is not greater.
    pub(super) fn minus(self, other: Wide) -> Wide {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        Wide { high: self.high.wrapping_sub(other.high).wrapping_sub(u128::from(borrow)), low }
    }

    /// Quotient and remainder by a divisor from 1 to 2^127.
    pub(super) fn divided_by(self, divisor: u128) -> (Wide, u128) {
        debug_assert!(divisor != 0 && divisor <= 1 << 127);
        if self.high == 0 {
            return (Wide::from(self.low / divisor), self.low % divisor);
        }
        // One bit at a time: the remainder stays below the divisor, so that its double fits.
        let mut quotient = Wide { high: self.high / divisor, low: 0 };
        let mut remainder = self.high % divisor;
        for bit in (0..128).rev() {
            remainder = remainder << 1 | (self.low >> bit & 1);
            if remainder >= divisor {
                remainder -= divisor;
                quotient.low |= 1 << bit;
            }
        }
        (quotient, remainder)
    }

    /// How many decimal digits; 0 has one.
    pub(super) fn digits(self) -> u32 {
        if self.high == 0 {
            return self.low.checked_ilog10().unwrap_or(0) + 1;
        }
        let (upper, _) = self.divided_by(10u128.pow(38));
        38 + upper.digits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_divide_back() {
        let a = 9_999_999_999_999_999_999_999_999_999_999_999_u128;
        let b = 7_777_777_777_777_777_777_777_777_777_777_777_u128;
        let product = Wide::product(a, b).plus(Wide::from(12345));
        assert_eq!(product.divided_by(b), (Wide::from(a), 12345));
        assert_eq!(product.minus(Wide::from(12345)).divided_by(a), (Wide::from(b), 0));
        assert_eq!(product.digits(), 68);
        assert_eq!(Wide::from(1).times_power_of_ten(76).digits(), 77);
        assert_eq!(Wide::product(u128::MAX, u128::MAX).high, u128::MAX - 1);
    }
}
