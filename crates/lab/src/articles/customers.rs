//! A table of customers with 61 columns, such as they are after twenty years: full, or with every second column NULL.
//!
//! Its types are those that all servers know, from Firebird 3 and PostgreSQL on.

use std::fmt::Write;

use farbird_client::Value;
use farbird_types::{Date, Time, Timestamp};

use crate::random::Random;
use crate::records::{CITIES, COUNTRIES, FIRST_NAMES, LAST_NAMES, STATES, STREETS};

/// A kind of column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Id,
    Name,
    Email,
    Phone,
    Street,
    City,
    PostCode,
    Country,
    Date,
    Moment,
    Flag,
    State,
    Small,
    Number,
    Money,
    Measure,
    Note,
}

/// The columns.
const COLUMNS: [Kind; 61] = {
    use Kind::*;
    [
        Id, Name, Name, Email, Phone, Phone, Street, City, PostCode, Country, // the customer
        Street, City, PostCode, Country, Street, City, PostCode, Country, // deliveries, bills
        Date, Moment, Moment, Moment, Moment, Date, Date, // life
        Flag, Flag, Flag, Flag, State, State, State, State, // states
        Small, Small, Small, Small, Number, Number, Number, Number, // numbers
        Money, Money, Money, Money, Money, Measure, Measure, Measure, Measure, // amounts
        Note, Note, Flag, Small, Money, Date, State, Number, Email, Phone, Note, // what was added
    ]
};

/// Number of columns.
pub(super) const COLUMN_COUNT: usize = COLUMNS.len();

/// A field of a row.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Field {
    Null,
    Integer(i64),
    /// Hundredths.
    Money(i64),
    Double(f64),
    Boolean(bool),
    Text(String),
    /// Days since 1858-11-17.
    Date(i32),
    /// Days as above, and seconds.
    Moment(i32, u32),
}

/// Who reads the table's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Firebird,
    Postgres,
    MariaDb,
}

impl Kind {
    fn sql(self, dialect: Dialect) -> &'static str {
        match (self, dialect) {
            (Kind::Id, _) => "BIGINT NOT NULL PRIMARY KEY",
            (Kind::Name | Kind::City, _) => "VARCHAR(60)",
            (Kind::Email | Kind::Street, _) => "VARCHAR(120)",
            (Kind::Phone, _) => "VARCHAR(30)",
            (Kind::PostCode, _) => "VARCHAR(10)",
            (Kind::Country, _) => "VARCHAR(2)",
            (Kind::State, _) => "VARCHAR(20)",
            (Kind::Note, _) => "VARCHAR(500)",
            (Kind::Date, _) => "DATE",
            (Kind::Moment, Dialect::MariaDb) => "DATETIME",
            (Kind::Moment, _) => "TIMESTAMP",
            (Kind::Flag, _) => "BOOLEAN",
            (Kind::Small, _) => "SMALLINT",
            (Kind::Number, _) => "INTEGER",
            // PostgreSQL's numeric is a type without a size of its own; Firebird's NUMERIC(15, 2) is an 8-byte integer.
            (Kind::Money, _) => "NUMERIC(15, 2)",
            (Kind::Measure, _) => "DOUBLE PRECISION",
        }
    }

    fn field(self, index: u64, random: &mut Random) -> Field {
        let text = |text: &str| Field::Text(text.to_owned());
        match self {
            Kind::Id => Field::Integer(100_000 + index as i64),
            Kind::Name if random.below(2) == 0 => text(random.pick(&FIRST_NAMES)),
            Kind::Name => text(random.pick(&LAST_NAMES)),
            Kind::Email => Field::Text(format!(
                "{}{}@example.org",
                random.pick(&FIRST_NAMES).to_lowercase(),
                random.below(10_000)
            )),
            Kind::Phone => {
                Field::Text(format!("+{} {:09}", 10 + random.below(80), random.below(1_000_000_000)))
            }
            Kind::Street => Field::Text(format!("{} {}", random.pick(&STREETS), 1 + random.below(220))),
            Kind::City => text(random.pick(&CITIES)),
            Kind::PostCode => Field::Text(format!("{:05}", random.below(100_000))),
            Kind::Country => text(random.pick(&COUNTRIES)),
            Kind::State => text(random.pick(&STATES)),
            Kind::Note => {
                let words: Vec<&str> = (0..4 + random.below(24)).map(|_| random.pick(&STREETS)).collect();
                Field::Text(words.join(", "))
            }
            Kind::Date => Field::Date(45_000 + random.below(15_000) as i32),
            Kind::Moment => Field::Moment(55_000 + random.below(4_000) as i32, random.below(86_400) as u32),
            Kind::Flag => Field::Boolean(random.below(5) == 0),
            Kind::Small => Field::Integer(random.below(200) as i64),
            Kind::Number => Field::Integer(1_000_000 + random.below(50_000) as i64),
            Kind::Money => Field::Money(random.below(5_000_000) as i64),
            Kind::Measure => Field::Double(random.below(30_000) as f64 / 100.0),
        }
    }
}

/// CREATE TABLE.
pub(super) fn create_table(name: &str, dialect: Dialect) -> String {
    let mut sql = format!("CREATE TABLE {name} (");
    for (index, kind) in COLUMNS.iter().enumerate() {
        // Writing to a String cannot fail.
        let _ = write!(sql, "{}C{index} {}", if index > 0 { ", " } else { "" }, kind.sql(dialect));
    }
    sql.push(')');
    sql
}

/// INSERT with a parameter for each column.
pub(super) fn insert(name: &str) -> String {
    format!("INSERT INTO {name} VALUES ({})", vec!["?"; COLUMN_COUNT].join(", "))
}

/// A row. With `half_null` every second column but the key is NULL, others in other rows.
pub(super) fn row(index: u64, half_null: bool) -> Vec<Field> {
    let mut random = Random(index);
    let fields = COLUMNS.iter().enumerate().map(|(column, kind)| {
        let field = kind.field(index, &mut random);
        let is_null = half_null && column > 0 && (column as u64 + index).is_multiple_of(2);
        if is_null { Field::Null } else { field }
    });
    fields.collect()
}

impl Field {
    /// For Firebird.
    pub(super) fn value(&self) -> Value {
        match self {
            Field::Null => Value::Null,
            Field::Integer(number) => Value::integer(*number),
            Field::Money(hundredths) => Value::Integer { unscaled: *hundredths, scale: -2 },
            Field::Double(number) => Value::Double(*number),
            Field::Boolean(is_true) => Value::Boolean(*is_true),
            Field::Text(text) => Value::text(text),
            Field::Date(days) => Value::Date(Date(*days)),
            Field::Moment(days, seconds) => {
                Value::Timestamp(Timestamp { date: Date(*days), time: Time(seconds * TICKS_PER_SECOND) })
            }
        }
    }

    /// As PostgreSQL's COPY reads it, and MariaDB's LOAD DATA.
    pub(super) fn write_copy(&self, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = match self {
            Field::Null => write!(out, "\\N"),
            Field::Integer(number) => write!(out, "{number}"),
            Field::Money(hundredths) => write!(out, "{}.{:02}", hundredths / 100, hundredths % 100),
            Field::Double(number) => write!(out, "{number}"),
            Field::Boolean(is_true) => write!(out, "{}", u8::from(*is_true)),
            Field::Text(text) => write!(out, "{}", text.replace('\\', "\\\\").replace('\t', "\\t")),
            Field::Date(days) => write!(out, "{}", iso_date(*days)),
            Field::Moment(days, seconds) => {
                let (minutes, second) = (seconds / 60, seconds % 60);
                write!(out, "{} {:02}:{:02}:{second:02}", iso_date(*days), minutes / 60, minutes % 60)
            }
        };
    }
}

const TICKS_PER_SECOND: u32 = 10_000;

/// `2001-02-03` of days since 1858-11-17 (Howard Hinnant's civil_from_days).
fn iso_date(days: i32) -> String {
    // Day 0 of that algorithm is 0000-03-01; ours is 678,881 days later.
    let days = i64::from(days) + 678_881;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year_of_era + year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_same_every_time_and_half_of_a_half_row_is_null() {
        assert_eq!(row(5, false), row(5, false));
        assert!(!row(5, false).contains(&Field::Null));
        let nulls = row(5, true).iter().filter(|field| **field == Field::Null).count();
        assert!((29..=31).contains(&nulls), "{nulls} NULLs");
    }

    #[test]
    fn dates_are_written_as_the_calendar_has_them() {
        assert_eq!(iso_date(0), "1858-11-17");
        assert_eq!(iso_date(40_587), "1970-01-01");
        assert_eq!(iso_date(51_603), "2000-02-29");
        assert_eq!(iso_date(51_604), "2000-03-01");
        assert_eq!(iso_date(60_310), "2024-01-01");
    }
}
