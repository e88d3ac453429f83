//! Columns of views and computed columns, whose expressions Firebird 3 computes in other types than later versions: in a backup that it
//! may restore they are described as it computes them.

use std::collections::HashSet;

use super::definitions::{Definitions, number};
use crate::attribute::field;
use crate::record::Record;

/// Types of Firebird 4, what Firebird 3 has in their place, and its bytes: INT128, DECFLOAT, times and timestamps with time zones.
const BEFORE_4: [(i64, i64, i64); 7] =
    [(26, 16, 8), (24, 27, 8), (25, 27, 8), (28, 13, 4), (30, 13, 4), (29, 35, 8), (31, 35, 8)];
/// The most digits of a number of eight bytes.
const DIGITS_OF_8_BYTES: i64 = 18;

impl Definitions {
    /// Whether a domain is that of an expression.
    pub(super) fn is_computed(domain: &Record) -> bool {
        domain.bytes(field::COMPUTED_BLR).is_some()
    }

    /// Describes expressions as Firebird 3 does.
    pub(super) fn describe_computed_as_before_4(&mut self) {
        let computed = self.domains.iter().filter(|it| Definitions::is_computed(it));
        let names: HashSet<String> = computed.filter_map(|it| it.name(field::NAME)).collect();
        let domains = self.domains.iter_mut().filter(|it| Definitions::is_computed(it));
        let columns = self.relations.iter_mut().flat_map(|it| &mut it.fields);
        let columns = columns.filter(|it| it.name(field::SOURCE).is_some_and(|it| names.contains(&it)));
        for record in domains.chain(columns) {
            let described = BEFORE_4.iter().find(|(newer, ..)| record.number(field::TYPE) == Some(*newer));
            let Some((_, older, bytes)) = described else { continue };
            replace(record, field::TYPE, *older);
            replace(record, field::LENGTH, *bytes);
            if record.number(field::PRECISION).is_some_and(|it| it > DIGITS_OF_8_BYTES) {
                replace(record, field::PRECISION, DIGITS_OF_8_BYTES);
            }
        }
    }
}

fn replace(record: &mut Record, attribute: u8, value: i64) {
    for it in record.attributes.iter_mut().filter(|it| it.number == attribute) {
        *it = number(attribute, value);
    }
}
