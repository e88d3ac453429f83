//! Numbers as people read them.

use std::time::Duration;

/// A time: `312 us`, `8.25 ms`, `1,234 ms`, `12.5 s`, `3 min 20 s`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 0.001 => format!("{:.0} us", s * 1e6),
        s if s < 0.01 => format!("{:.2} ms", s * 1e3),
        s if s < 0.1 => format!("{:.1} ms", s * 1e3),
        s if s < 10.0 => format!("{} ms", count((s * 1e3).round() as u64)),
        s if s < 180.0 => format!("{s:.1} s"),
        s => format!("{} min {:02.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
    }
}

/// Bytes: `123 B`, `45.6 KB`, `7.89 MB`, in powers of a thousand, as lines are sold.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} KB", three_digits(bytes as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} MB", three_digits(bytes as f64 / 1e6)),
        _ => format!("{} GB", three_digits(bytes as f64 / 1e9)),
    }
}

/// A count with commas: `12,345,678`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// So many per second: `1.23 M/s`, `456 k/s`, `789 /s`.
pub fn rate(per_second: f64) -> String {
    match per_second {
        r if r >= 1e6 => format!("{} M/s", three_digits(r / 1e6)),
        r if r >= 1e3 => format!("{} k/s", three_digits(r / 1e3)),
        r => format!("{} /s", three_digits(r)),
    }
}

fn three_digits(number: f64) -> String {
    match number {
        n if n < 10.0 => format!("{n:.2}"),
        n if n < 100.0 => format!("{n:.1}"),
        n => format!("{n:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact_enough() {
        assert_eq!(duration(Duration::from_micros(312)), "312 us");
        assert_eq!(duration(Duration::from_micros(8_254)), "8.25 ms");
        assert_eq!(duration(Duration::from_micros(1_234_400)), "1,234 ms");
        assert_eq!(duration(Duration::from_millis(55_500)), "55.5 s");
        assert_eq!(duration(Duration::from_secs(200)), "3 min 20 s");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(3_366_000), "3.37 MB");
        assert_eq!(count(0), "0");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(12_345_678), "12,345,678");
        assert_eq!(rate(1_100_000.0), "1.10 M/s");
    }
}
