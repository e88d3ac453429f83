//! What the sample of a column tells: different values, the common ones, a histogram, how they follow the rows.

use farbird_record::{ColumnValues, ColumnVector, value_of_number};
use farbird_types::compare::equality_key;
use farbird_types::key::{KeyPart, encode_order_key};
use farbird_types::{Collation, SqlType, Text, Value};
use xxhash_rust::xxh3::xxh3_64;

use super::ColumnStatistics;
use super::distinct::{DistinctSample, Sketch, mix};

/// Common values that are told.
const COMMON_MAX: usize = 16;
/// A value is common if it comes this many times as often as the average one.
const COMMON_FACTOR: f64 = 1.25;
/// Slices of a histogram.
const SLICES_MAX: usize = 64;
/// Longer texts are cut, in bytes.
const TEXT_BYTES_MAX: usize = 64;
/// The hash of NULL.
const NULL_HASH: u64 = 0x6E75_6C6C;

/// The collation of a column.
pub(super) fn collation_of(sql_type: &SqlType) -> Collation {
    match sql_type {
        SqlType::Text(text) => text.collation,
        SqlType::Blob { collation, .. } => *collation,
        _ => Collation::default(),
    }
}

/// Hashes by which equal values are equal: of all values of a vector.
pub(super) fn hashes(vector: &ColumnVector, collation: Collation, out: &mut Vec<u64>) {
    out.clear();
    match vector.values() {
        ColumnValues::Numbers(numbers) => out.extend(numbers.iter().map(|number| mix(*number as u64))),
        // Both zeros are equal.
        ColumnValues::Doubles(doubles) => {
            out.extend(doubles.iter().map(|double| mix((double + 0.0).to_bits())))
        }
        ColumnValues::Values(values) => {
            let mut key = Vec::new();
            out.extend(values.iter().map(|value| {
                key.clear();
                equality_key(value, collation, &mut key);
                xxh3_64(&key)
            }));
        }
    }
    if vector.nulls().count() > 0 {
        for (index, hash) in out.iter_mut().enumerate() {
            if vector.nulls().is_null(index) {
                *hash = NULL_HASH;
            }
        }
    }
}

/// The hash of one value, as [`hashes`] of a column that is not packed as numbers.
pub(super) fn hash_of(value: &Value, collation: Collation) -> u64 {
    if value.is_null() {
        return NULL_HASH;
    }
    let mut key = Vec::new();
    equality_key(value, collation, &mut key);
    xxh3_64(&key)
}

/// Adds the hash of the next part to that of the parts before it.
pub(super) fn join(before: u64, next: u64) -> u64 {
    mix(before.rotate_left(23) ^ next)
}

/// A column of a sample.
#[derive(Debug)]
pub(super) struct ColumnSample {
    sql_type: SqlType,
    collation: Collation,
    distinct: DistinctSample,
    rows: u64,
    nulls: u64,
    text_bytes: u64,
    numbers: Option<(i64, i64)>,
    /// Values that came twice at least, with their hashes.
    repeated: Vec<(u64, Value)>,
    /// Every so manieth row's value is kept.
    every: usize,
    kept: Vec<(u64, Value)>,
}

impl ColumnSample {
    /// An empty one; every `every`th value will be kept.
    pub(super) fn new(sql_type: SqlType, every: usize) -> ColumnSample {
        ColumnSample {
            sql_type,
            collation: collation_of(&sql_type),
            distinct: DistinctSample::default(),
            rows: 0,
            nulls: 0,
            text_bytes: 0,
            numbers: None,
            repeated: Vec::new(),
            every: every.max(1),
            kept: Vec::new(),
        }
    }

    /// Adds values of a stretch; `hashes` gets theirs.
    pub(super) fn add(&mut self, vector: &ColumnVector, stretch: u32, hashes_out: &mut Vec<u64>) {
        hashes(vector, self.collation, hashes_out);
        let nulls = vector.nulls();
        let value = |index: usize| vector.value(index, &self.sql_type).unwrap_or_default();
        for (index, hash) in hashes_out.iter().enumerate() {
            if nulls.is_null(index) {
                continue;
            }
            if self.distinct.add(*hash, stretch) == 2 {
                self.repeated.push((*hash, value(index)));
            }
            if (self.rows as usize + index).is_multiple_of(self.every) {
                self.kept.push((*hash, value(index)));
            }
        }
        match vector.values() {
            ColumnValues::Numbers(numbers) => {
                for (_, number) in numbers.iter().enumerate().filter(|(index, _)| !nulls.is_null(*index)) {
                    let (least, greatest) = self.numbers.unwrap_or((*number, *number));
                    self.numbers = Some((least.min(*number), greatest.max(*number)));
                }
            }
            ColumnValues::Doubles(_) => {}
            ColumnValues::Values(values) => {
                let size = |value: &Value| if let Value::Text(text) = value { text.bytes().len() } else { 0 };
                self.text_bytes += values.iter().map(|value| size(value) as u64).sum::<u64>();
            }
        }
        self.rows += hashes_out.len() as u64;
        self.nulls += nulls.count() as u64;
    }

    /// How many different values there are, with NULL as one, if the sample is this share of all rows.
    pub(super) fn distinct_with_null(&self, share: f64) -> f64 {
        self.distinct.estimate(share) + if self.nulls > 0 { 1.0 } else { 0.0 }
    }

    /// What it tells of a relation of which it is this share.
    pub(super) fn finish(self, share: f64) -> ColumnStatistics {
        let rows = self.rows.max(1) as f64;
        let present = (self.rows - self.nulls) as f64;
        let has_order = !matches!(self.sql_type, SqlType::Blob { .. } | SqlType::Array | SqlType::Null);
        let mut found = ColumnStatistics {
            distinct: self.distinct.estimate(share).min(present / share.max(f64::MIN_POSITIVE)),
            null_fraction: self.nulls as f64 / rows,
            bytes: match self.sql_type {
                SqlType::Text(_) => self.text_bytes as f64 / present.max(1.0),
                sql_type => fixed_bytes(&sql_type),
            },
            ..ColumnStatistics::default()
        };
        if !has_order {
            return found;
        }
        let common = self.common(&found, rows, share >= 1.0);
        found.common = common.iter().map(|(_, value, share)| (value.clone(), *share)).collect();
        let sorted = self.sorted();
        found.correlation = correlation(&sorted);
        let ends = (sorted.first().map(|kept| kept.place), sorted.last().map(|kept| kept.place));
        let shown = |place: Option<usize>| Some(cut(&self.kept.get(place?)?.1).0);
        found.least = shown(ends.0);
        found.greatest = shown(ends.1);
        if let Some((least, greatest)) = self.numbers {
            let of_number = |number: i64| value_of_number(&self.sql_type, number);
            found.least = of_number(least).or(found.least);
            found.greatest = of_number(greatest).or(found.greatest);
        }
        let is_common = |hash: u64| common.iter().any(|(other, ..)| *other == hash);
        let others: Vec<usize> = sorted
            .iter()
            .map(|kept| kept.place)
            .filter(|place| self.kept.get(*place).is_some_and(|(hash, _)| !is_common(*hash)))
            .collect();
        found.histogram = self.histogram(&others);
        found
    }

    /// The common values, with their hashes and shares.
    fn common(&self, found: &ColumnStatistics, rows: f64, is_whole: bool) -> Vec<(u64, Value, f64)> {
        let average = (1.0 - found.null_fraction) / found.distinct.max(1.0);
        let is_few = found.distinct <= COMMON_MAX as f64;
        let count = |hash| match is_whole || is_few {
            true => Some(self.distinct.count(hash)),
            false => self.distinct.count_of_spread(hash),
        };
        let mut common: Vec<(u64, Value, f64)> = self
            .repeated
            .iter()
            .filter_map(|(hash, value)| Some((*hash, value, f64::from(count(*hash)?) / rows)))
            .filter(|(_, _, share)| is_few || *share > average * COMMON_FACTOR)
            .filter_map(|(hash, value, share)| match cut(value) {
                (whole, false) => Some((hash, whole, share)),
                (_, true) => None,
            })
            .collect();
        common.sort_by(|a, b| b.2.total_cmp(&a.2));
        common.truncate(COMMON_MAX);
        common
    }

    /// The places of the kept values, in the order of the values.
    fn sorted(&self) -> Vec<Kept> {
        let part = KeyPart { collation: self.collation, ..KeyPart::default() };
        let mut sorted: Vec<Kept> = Vec::with_capacity(self.kept.len());
        for (place, (_, value)) in self.kept.iter().enumerate() {
            let mut key = Vec::new();
            if encode_order_key(value, &part, &mut key).is_ok() {
                sorted.push(Kept { key, place });
            }
        }
        sorted.sort();
        sorted
    }

    fn histogram(&self, places: &[usize]) -> Vec<Value> {
        let Some(last) = places.len().checked_sub(1) else { return Vec::new() };
        let slices = last.clamp(1, SLICES_MAX);
        (0..=slices)
            .filter_map(|slice| places.get(slice * last / slices))
            .filter_map(|place| Some(cut(&self.kept.get(*place)?.1).0))
            .collect()
    }
}

/// A kept value by its order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kept {
    key: Vec<u8>,
    place: usize,
}

/// How places follow the order of values.
fn correlation(sorted: &[Kept]) -> f64 {
    if sorted.len() < 2 {
        return 1.0;
    }
    // Where a value stands among the kept rows: values without order are left out, so places have no gaps that matter.
    let count = sorted.len() as f64;
    let mean = (count - 1.0) / 2.0;
    let products: f64 =
        sorted.iter().enumerate().map(|(rank, kept)| (rank as f64 - mean) * (kept.place as f64 - mean)).sum();
    (products / (count * (count * count - 1.0) / 12.0)).clamp(-1.0, 1.0)
}

/// A value as it is shown: texts without trailing spaces, and not too long. Whether something was cut away.
pub(super) fn cut(value: &Value) -> (Value, bool) {
    let Value::Text(text) = value else { return (value.clone(), false) };
    let bytes = text.bytes();
    let end = bytes.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    if end <= TEXT_BYTES_MAX {
        let trimmed = bytes.get(..end).unwrap_or_default();
        return (Value::Text(Text::new(trimmed, text.character_set())), false);
    }
    // Not in the middle of a character of UTF-8; characters of other sets that are cut only order a little differently.
    let mut end = TEXT_BYTES_MAX;
    while end > 0 && bytes.get(end).is_some_and(|byte| byte & 0xC0 == 0x80) {
        end -= 1;
    }
    (Value::Text(Text::new(bytes.get(..end).unwrap_or_default(), text.character_set())), true)
}

fn fixed_bytes(sql_type: &SqlType) -> f64 {
    use farbird_types::ExactWidth;
    match sql_type {
        SqlType::Null => 0.0,
        SqlType::Boolean => 1.0,
        SqlType::Exact { width: ExactWidth::Short, .. } => 2.0,
        SqlType::Exact { width: ExactWidth::Long, .. } | SqlType::Float | SqlType::Date | SqlType::Time => {
            4.0
        }
        SqlType::Exact { width: ExactWidth::Int128, .. } | SqlType::DecFloat34 => 16.0,
        SqlType::TimeTz => 6.0,
        SqlType::TimestampTz => 10.0,
        _ => 8.0,
    }
}

/// A column of which all values are looked at.
#[derive(Debug, Default)]
pub(super) struct WholeColumn {
    pub(super) sketch: Sketch,
    pub(super) nulls: u64,
}

impl WholeColumn {
    /// Adds values by their hashes.
    pub(super) fn add(&mut self, vector: &ColumnVector, hashes: &[u64]) {
        let nulls = vector.nulls();
        for (index, hash) in hashes.iter().enumerate() {
            if !nulls.is_null(index) {
                self.sketch.add(*hash);
            }
        }
        self.nulls += nulls.count() as u64;
    }
}
