//! The rows that are measured: made up, but for the text, and the same in every run.

use std::str::FromStr;

use farbird_record::value_codec::encode_row;
use farbird_record::{EncodeError, EncodedRows, RecordFormat};
use farbird_types::character_set::CharacterSet;
use farbird_types::{
    Date, ExactSubtype, ExactWidth, SqlType, Text, Time, Timestamp, TimestampTz, Value, ZoneId,
};

use crate::random::Random;

/// The first chapters of Jane Austen's "Pride and Prejudice" (1813), a paragraph a line, from Project Gutenberg's text
/// 1342. In the public domain.
pub(crate) const TEXT: &str = include_str!("pride_and_prejudice.txt");

/// A kind of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// NULL in a wide VARCHAR.
    Nulls,
    /// Customers, every column filled.
    CustomersFull,
    /// Customers, one column in seven filled.
    CustomersSparse,
    /// Text that a person wrote.
    Text,
    /// Random bytes.
    Noise,
    /// Integers, dates and money, ascending.
    Ordered,
    /// Integers, dates and money at random.
    Random,
}

impl Input {
    /// All of them.
    pub const ALL: [Input; 7] = [
        Input::Nulls,
        Input::CustomersFull,
        Input::CustomersSparse,
        Input::Text,
        Input::Noise,
        Input::Ordered,
        Input::Random,
    ];

    /// A name for command lines.
    pub fn name(self) -> &'static str {
        match self {
            Input::Nulls => "nulls",
            Input::CustomersFull => "customers-full",
            Input::CustomersSparse => "customers-sparse",
            Input::Text => "text",
            Input::Noise => "noise",
            Input::Ordered => "ordered",
            Input::Random => "random",
        }
    }

    /// What it is, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Input::Nulls => "NULL in VARCHAR(8000) UTF8",
            Input::CustomersFull => "customers: 61 columns of mixed types, all filled",
            Input::CustomersSparse => "customers: 61 columns of mixed types, one in seven filled",
            Input::Text => "passages of Pride and Prejudice in VARCHAR(2000) UTF8",
            Input::Noise => "200 to 2,000 random bytes in VARCHAR(2000) OCTETS",
            Input::Ordered => "INTEGER, BIGINT, DATE, TIMESTAMP and NUMERIC(15,2) in order",
            Input::Random => "INTEGER, BIGINT, DATE, TIMESTAMP and NUMERIC(15,2) at random",
        }
    }

    /// The columns.
    pub fn format(self) -> RecordFormat {
        RecordFormat::new(match self {
            Input::Nulls => vec![SqlType::varchar(8_000, CharacterSet::UTF8)],
            Input::CustomersFull | Input::CustomersSparse => {
                CUSTOMER_COLUMNS.iter().map(|column| column.sql_type()).collect()
            }
            Input::Text => vec![SqlType::varchar(2_000, CharacterSet::UTF8)],
            Input::Noise => vec![SqlType::varchar(2_000, CharacterSet::OCTETS)],
            Input::Ordered | Input::Random => vec![
                SqlType::INTEGER,
                SqlType::BIGINT,
                SqlType::Date,
                SqlType::Timestamp,
                numeric(ExactWidth::Int64, -2),
            ],
        })
    }

    /// The column that is asked for where one is: a usual one in the middle.
    pub fn projected_column(self) -> u16 {
        match self {
            Input::CustomersFull | Input::CustomersSparse => 30,
            Input::Ordered | Input::Random => 2,
            Input::Nulls | Input::Text | Input::Noise => 0,
        }
    }

    /// Rows in value encoding.
    ///
    /// # Errors
    /// None, unless a value does not fit its column, which is a mistake in this file.
    pub fn rows(self, count: usize) -> Result<EncodedRows, EncodeError> {
        let format = self.format();
        let mut random = Random(self as u64 + 1);
        let mut passages = Passages::new();
        let mut rows = EncodedRows::new();
        for index in 0..count as u64 {
            let row = match self {
                Input::Nulls => vec![Value::Null],
                Input::CustomersFull => customer(index, &mut random, |_, _| true),
                Input::CustomersSparse => {
                    // Keys and names are always there; the rest seldom.
                    customer(index, &mut random, |slot, random| slot < 3 || random.below(7) == 0)
                }
                Input::Text => vec![Value::text(&passages.next(&mut random))],
                Input::Noise => {
                    let length = 200 + random.below(1_801);
                    let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
                    vec![Value::Text(Text::new(bytes, CharacterSet::OCTETS))]
                }
                Input::Ordered => ordered(index),
                Input::Random => at_random(&mut random),
            };
            rows.push_with(|out| encode_row(&format, &row, out))?;
        }
        Ok(rows)
    }
}

/// A name that is no input's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an input: nulls, customers-full, customers-sparse, text, noise, ordered or random")]
pub struct UnknownInput;

impl FromStr for Input {
    type Err = UnknownInput;

    fn from_str(name: &str) -> Result<Input, UnknownInput> {
        Input::ALL.into_iter().find(|input| input.name() == name).ok_or(UnknownInput)
    }
}

fn numeric(width: ExactWidth, scale: i8) -> SqlType {
    SqlType::Exact { width, scale, subtype: ExactSubtype::Numeric }
}

fn ordered(index: u64) -> Vec<Value> {
    let index = index as i64;
    vec![
        Value::integer(index + 1),
        Value::integer(4_000_000_000 + 10 * index),
        // Forty orders a day; one every half a minute or so; prices that creep up.
        Value::Date(Date(58_849 + (index / 40) as i32)),
        Value::Timestamp(timestamp(58_849, 288_000_000 + index * 300_000 + (index * 7_919) % 100_000)),
        Value::Integer { unscaled: 1_000 + index * 3 + index % 7, scale: -2 },
    ]
}

fn at_random(random: &mut Random) -> Vec<Value> {
    vec![
        Value::integer(i64::from(random.next() as i32)),
        Value::integer(random.below(1 << 40) as i64),
        Value::Date(Date(50_000 + random.below(10_000) as i32)),
        Value::Timestamp(timestamp(50_000, random.below(10_000 * TICKS_PER_DAY as u64) as i64)),
        Value::Integer { unscaled: random.below(100_000_000) as i64, scale: -2 },
    ]
}

const TICKS_PER_DAY: i64 = 864_000_000;

fn timestamp(day: i32, ticks: i64) -> Timestamp {
    let date = Date(day + (ticks / TICKS_PER_DAY) as i32);
    Timestamp { date, time: Time((ticks % TICKS_PER_DAY) as u32) }
}

/// Passages of the text, one after the other: each begins where the one before ended, at any letter, and is 300 to 1,900
/// characters long, so that nothing repeats itself before the text has been read once.
struct Passages {
    letters: Vec<char>,
    at: usize,
}

impl Passages {
    fn new() -> Passages {
        Passages { letters: TEXT.chars().collect(), at: 0 }
    }

    fn next(&mut self, random: &mut Random) -> String {
        let length = 300 + random.below(1_601) as usize;
        let passage = self.letters.iter().cycle().skip(self.at).take(length).collect();
        self.at = (self.at + length) % self.letters.len();
        passage
    }
}

/// A kind of column of the customers table.
#[derive(Debug, Clone, Copy)]
enum Customer {
    Id,
    FirstName,
    LastName,
    Email,
    Phone,
    Street,
    City,
    PostCode,
    Country,
    Date,
    Created,
    Changed,
    Flag,
    Status,
    Count,
    Reference,
    Money,
    Rate,
    Measure,
    Note,
}

/// The 61 columns: what such tables look like after twenty years.
const CUSTOMER_COLUMNS: [Customer; 61] = {
    use Customer::*;
    [
        Id, FirstName, LastName, Email, Phone, Phone, Street, City, PostCode, Country, // the customer
        Street, City, PostCode, Country, Street, City, PostCode, Country, // deliveries, bills
        Date, Created, Changed, Created, Changed, Date, Date, // life
        Flag, Flag, Flag, Flag, Status, Status, Status, Status, // states
        Count, Count, Count, Count, Reference, Reference, Reference, Reference, // numbers
        Money, Money, Money, Money, Money, Rate, Rate, Measure, Measure, // amounts
        Note, Note, Flag, Count, Money, Date, Status, Reference, Email, Phone, Note, // what was added
    ]
};

pub(crate) const FIRST_NAMES: [&str; 12] = [
    "Anna",
    "Björn",
    "Carla",
    "Dmitri",
    "Eleni",
    "Farid",
    "Grace",
    "Hiroko",
    "Inês",
    "João",
    "Krzysztof",
    "Lea",
];
pub(crate) const LAST_NAMES: [&str; 12] = [
    "Müller",
    "Smith",
    "García",
    "Ivanova",
    "Papadopoulos",
    "Haddad",
    "O'Neill",
    "Tanaka",
    "Silva",
    "Kowalski",
    "Østergaard",
    "van Dijk",
];
pub(crate) const STREETS: [&str; 8] = [
    "High Street",
    "Rua Augusta",
    "Hauptstraße",
    "Via Roma",
    "Nevsky Prospekt",
    "Calle Mayor",
    "Kärntner Ring",
    "Elm Road",
];
pub(crate) const CITIES: [&str; 8] =
    ["London", "São Paulo", "Berlin", "Roma", "Санкт-Петербург", "Madrid", "Wien", "Boston"];
pub(crate) const STATES: [&str; 5] = ["active", "suspended", "closed", "prospect", "under review"];
pub(crate) const COUNTRIES: [&str; 8] = ["GB", "BR", "DE", "IT", "RU", "ES", "AT", "US"];

impl Customer {
    fn sql_type(self) -> SqlType {
        let varchar = |length| SqlType::varchar(length, CharacterSet::UTF8);
        match self {
            Customer::Id => SqlType::BIGINT,
            Customer::FirstName | Customer::LastName | Customer::City => varchar(60),
            Customer::Email | Customer::Street => varchar(120),
            Customer::Phone => varchar(30),
            Customer::PostCode => SqlType::char(10, CharacterSet::UTF8),
            Customer::Country => SqlType::char(2, CharacterSet::UTF8),
            Customer::Date => SqlType::Date,
            Customer::Created => SqlType::Timestamp,
            Customer::Changed => SqlType::TimestampTz,
            Customer::Flag => SqlType::Boolean,
            Customer::Status => varchar(20),
            Customer::Count => SqlType::SMALLINT,
            Customer::Reference => SqlType::INTEGER,
            Customer::Money => numeric(ExactWidth::Int64, -2),
            Customer::Rate => numeric(ExactWidth::Int128, -6),
            Customer::Measure => SqlType::Double,
            Customer::Note => varchar(500),
        }
    }

    fn value(self, index: u64, random: &mut Random) -> Value {
        match self {
            Customer::Id => Value::integer(100_000 + index as i64),
            Customer::FirstName => Value::text(random.pick(&FIRST_NAMES)),
            Customer::LastName => Value::text(random.pick(&LAST_NAMES)),
            Customer::Email => Value::text(&format!(
                "{}.{}{}@example.{}",
                random.pick(&FIRST_NAMES).to_lowercase(),
                random.pick(&LAST_NAMES).to_lowercase().replace([' ', '\''], ""),
                random.below(1_000),
                random.pick(&["com", "org", "net"]),
            )),
            Customer::Phone => Value::text(&format!(
                "+{} {} {:07}",
                10 + random.below(80),
                100 + random.below(900),
                random.below(10_000_000)
            )),
            Customer::Street => Value::text(&format!("{} {}", random.pick(&STREETS), 1 + random.below(220))),
            Customer::City => Value::text(random.pick(&CITIES)),
            Customer::PostCode => padded(&format!("{:05}", random.below(100_000)), 10),
            Customer::Country => padded(random.pick(&COUNTRIES), 2),
            Customer::Date => Value::Date(Date(45_000 + random.below(15_000) as i32)),
            Customer::Created => {
                Value::Timestamp(timestamp(55_000, (index * 40_000_000 + random.below(30_000_000)) as i64))
            }
            Customer::Changed => Value::TimestampTz(TimestampTz {
                utc: timestamp(58_000, random.below(1_500 * TICKS_PER_DAY as u64) as i64),
                zone: random.pick(&[ZoneId(65_535), ZoneId(65_037), ZoneId(65_163)]),
            }),
            Customer::Flag => Value::Boolean(random.below(5) == 0),
            Customer::Status => Value::text(random.pick(&STATES)),
            Customer::Count => Value::integer(random.below(200) as i64),
            Customer::Reference => Value::integer(1_000_000 + random.below(50_000) as i64),
            Customer::Money => Value::Integer { unscaled: random.below(5_000_000) as i64, scale: -2 },
            Customer::Rate => Value::Int128 { unscaled: i128::from(random.below(2_000_000)), scale: -6 },
            // Somebody's centimetres: two digits after the point.
            Customer::Measure => Value::Double(random.below(30_000) as f64 / 100.0),
            Customer::Note => {
                let start = random.below(TEXT.len() as u64 - 400) as usize;
                let length = 20 + random.below(200) as usize;
                let words: Vec<&str> = TEXT.split(' ').skip(start / 8).take(length / 6).collect();
                Value::text(&words.join(" "))
            }
        }
    }
}

/// A CHAR value.
fn padded(text: &str, length: usize) -> Value {
    Value::text(&format!("{text:<length$}"))
}

fn customer(index: u64, random: &mut Random, is_filled: impl Fn(usize, &mut Random) -> bool) -> Vec<Value> {
    CUSTOMER_COLUMNS
        .iter()
        .enumerate()
        .map(|(slot, column)| match is_filled(slot, random) {
            true => column.value(index, random),
            false => Value::Null,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_has_rows_of_its_format_and_the_same_ones_every_time() {
        for input in Input::ALL {
            let rows = input.rows(50).expect("rows of the format");
            assert_eq!(rows.len(), 50);
            assert_eq!(rows.bytes(), input.rows(50).expect("rows of the format").bytes());
            assert!(usize::from(input.projected_column()) < input.format().len());
        }
        assert_eq!(Input::CustomersFull.format().len(), 61);
    }
}
