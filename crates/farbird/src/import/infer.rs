//! Types for a table that is to be made of a file: the narrowest that all its values have.

use farbird_types::{CharacterSet, SqlType, Value};

use super::record::{Field, Record};
use crate::exchange::text;

/// Longest VARCHAR in UTF8; longer texts become BLOBs.
const VARCHAR_MAX: usize = 8_191;

/// What is known of a column by the values that were seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Guess {
    /// Types that all values so far have, the narrowest first; `None` before the first value.
    candidates: Option<Vec<Candidate>>,
    /// Longest text, in characters.
    length: usize,
    /// Digits before and behind the point.
    digits: (usize, usize),
    /// There are bytes that are no text.
    binary: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Candidate {
    Boolean,
    Integer,
    Bigint,
    Numeric,
    Double,
    Date,
    Time,
    Timestamp,
    TimestampTz,
}

const ALL: [Candidate; 9] = [
    Candidate::Boolean,
    Candidate::Integer,
    Candidate::Bigint,
    Candidate::Numeric,
    Candidate::Double,
    Candidate::Date,
    Candidate::Time,
    Candidate::Timestamp,
    Candidate::TimestampTz,
];

impl Guess {
    /// Sees a field.
    pub(super) fn see(&mut self, field: &Field, record: &Record, encoding: CharacterSet) {
        match field {
            Field::Null => {}
            Field::Text { range, .. } => {
                let bytes = record.bytes.get(range.clone()).unwrap_or_default();
                self.see_text(&encoding.decode_lossy(bytes));
            }
            Field::Value(Value::Text(text)) if text.character_set() == CharacterSet::OCTETS => {
                self.binary = true;
                self.length = self.length.max(text.bytes().len());
            }
            Field::Value(value @ Value::Text(_)) => {
                // What has a type of its own is no number by its looks.
                self.candidates = Some(Vec::new());
                self.length = self.length.max(farbird_types::convert::to_display_text(value).chars().count());
            }
            Field::Value(value) => {
                let shown = farbird_types::convert::to_display_text(value);
                self.measure(&shown);
                let fits: Vec<Candidate> = match value {
                    Value::Boolean(_) => vec![Candidate::Boolean],
                    Value::Integer { .. } | Value::Int128 { .. } | Value::DecFloat(_) => {
                        ALL.into_iter().filter(|candidate| candidate.takes_number(&shown)).collect()
                    }
                    Value::Float(_) | Value::Double(_) => vec![Candidate::Double],
                    Value::Date(_) => vec![Candidate::Date],
                    Value::Time(_) | Value::TimeTz(_) => vec![Candidate::Time],
                    Value::Timestamp(_) => vec![Candidate::Timestamp],
                    _ => vec![Candidate::TimestampTz],
                };
                self.keep(|candidate| fits.contains(&candidate));
            }
        }
    }

    fn see_text(&mut self, shown: &str) {
        self.measure(shown);
        self.keep(|candidate| candidate.takes(shown));
    }

    fn measure(&mut self, shown: &str) {
        self.length = self.length.max(shown.chars().count());
        let number = shown.trim_start_matches(['-', '+']);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        self.digits = (self.digits.0.max(whole.len()), self.digits.1.max(fraction.len()));
    }

    fn keep(&mut self, fits: impl Fn(Candidate) -> bool) {
        self.candidates.get_or_insert_with(|| ALL.to_vec()).retain(|candidate| fits(*candidate));
    }

    /// The type, as DDL writes it.
    pub(super) fn type_name(&self) -> String {
        let candidates = self.candidates.as_deref().unwrap_or_default();
        let (whole, fraction) = self.digits;
        for candidate in candidates {
            return match candidate {
                Candidate::Boolean => "BOOLEAN".to_owned(),
                Candidate::Integer => "INTEGER".to_owned(),
                Candidate::Bigint => "BIGINT".to_owned(),
                // Room for numbers that are larger than those seen.
                Candidate::Numeric if whole + fraction <= 18 => format!("NUMERIC(18, {fraction})"),
                Candidate::Numeric if whole + fraction <= 38 => format!("NUMERIC(38, {fraction})"),
                Candidate::Numeric => continue,
                Candidate::Double => "DOUBLE PRECISION".to_owned(),
                Candidate::Date => "DATE".to_owned(),
                Candidate::Time => "TIME".to_owned(),
                Candidate::Timestamp => "TIMESTAMP".to_owned(),
                Candidate::TimestampTz => "TIMESTAMP WITH TIME ZONE".to_owned(),
            };
        }
        if self.binary {
            return "BLOB SUB_TYPE BINARY".to_owned();
        }
        match self.length {
            0..=VARCHAR_MAX => format!("VARCHAR({}) CHARACTER SET UTF8", rounded(self.length)),
            _ => "BLOB SUB_TYPE TEXT CHARACTER SET UTF8".to_owned(),
        }
    }
}

/// A length with room for longer texts than those seen.
fn rounded(length: usize) -> usize {
    [20, 50, 100, 200, 500, 1_000, 2_000, 4_000]
        .into_iter()
        .find(|size| length <= *size)
        .unwrap_or(VARCHAR_MAX)
}

impl Candidate {
    fn takes(self, shown: &str) -> bool {
        let parses = |sql_type| text::parse(shown, sql_type).is_ok();
        let has_digit = shown.starts_with(|c: char| c.is_ascii_digit());
        match self {
            Candidate::Boolean => shown.eq_ignore_ascii_case("true") || shown.eq_ignore_ascii_case("false"),
            Candidate::Integer | Candidate::Bigint | Candidate::Numeric => self.takes_number(shown),
            Candidate::Double => {
                shown.parse::<f64>().is_ok() && shown.chars().any(|c| c.is_ascii_digit()) && !is_code(shown)
            }
            // Words such as TODAY are dates to Firebird, but hardly in a file.
            Candidate::Date => has_digit && shown.len() == 10 && parses(SqlType::Date),
            Candidate::Time => has_digit && shown.contains(':') && parses(SqlType::Time),
            Candidate::Timestamp => {
                has_digit && shown.len() > 10 && parses(SqlType::Timestamp) && !has_zone(shown)
            }
            Candidate::TimestampTz => has_digit && shown.len() > 10 && parses(SqlType::TimestampTz),
        }
    }

    fn takes_number(self, shown: &str) -> bool {
        let digits = shown.trim_start_matches('-');
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        plain
            && !is_code(shown)
            && match self {
                Candidate::Integer => text::parse(shown, SqlType::INTEGER).is_ok() && !shown.contains('.'),
                Candidate::Bigint => text::parse(shown, SqlType::BIGINT).is_ok() && !shown.contains('.'),
                Candidate::Numeric | Candidate::Double => shown.parse::<f64>().is_ok(),
                _ => false,
            }
    }
}

/// Zeros in front make a code rather than a number: 00420.
fn is_code(shown: &str) -> bool {
    let digits = shown.trim_start_matches(['-', '+']);
    digits.len() > 1 && digits.starts_with('0') && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit)
}

fn has_zone(shown: &str) -> bool {
    shown.get(19..).is_some_and(|rest| rest.contains(['+', '-', 'Z', 'z', ' ']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guessed(values: &[&str]) -> String {
        let mut guess = Guess::default();
        values.iter().for_each(|value| guess.see_text(value));
        guess.type_name()
    }

    #[test]
    fn the_narrowest_type_that_all_have() {
        for (values, name) in [
            (&["1", "-2147483648"][..], "INTEGER"),
            (&["1", "2147483648"], "BIGINT"),
            (&["1", "2.50"], "NUMERIC(18, 2)"),
            (&["12345678901234567890"], "NUMERIC(38, 0)"),
            (&["1", "1e3"], "DOUBLE PRECISION"),
            (&["true", "FALSE"], "BOOLEAN"),
            (&["2024-01-31"], "DATE"),
            (&["12:30:00", "1:02:03.5"], "TIME"),
            (&["2024-01-31 12:30:00", "2024-01-31T12:30:00.5"], "TIMESTAMP"),
            (&["2024-01-31 12:30:00+02:00"], "TIMESTAMP WITH TIME ZONE"),
            (&["00420", "1"], "VARCHAR(20) CHARACTER SET UTF8"),
            (&["1", "x"], "VARCHAR(20) CHARACTER SET UTF8"),
            (&["TODAY"], "VARCHAR(20) CHARACTER SET UTF8"),
            (&[], "VARCHAR(20) CHARACTER SET UTF8"),
        ] {
            assert_eq!(guessed(values), name, "{values:?}");
        }
        assert_eq!(guessed(&["x".repeat(9_000).as_str()]), "BLOB SUB_TYPE TEXT CHARACTER SET UTF8");
    }
}
