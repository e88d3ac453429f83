//! Which data the Unicode orders go by.
//!
//! The sort keys of a Unicode collation stand in indexes. They are what the collator of one version makes of CLDR's data:
//! another version may order texts otherwise, and even where it does not, its keys are other bytes. So a database file
//! remembers the version that its keys were made with, and what is different is made anew when the file is opened: see
//! docs/collations.md.
//!
//! The test `keys_have_not_changed_unnoticed` takes a fingerprint of many keys: whoever updates `icu_collator` meets it,
//! and gives [`UNICODE`] another number.

/// The version of the keys of Unicode collations: ICU4X's version, and a number that goes up when we change what is made
/// of it.
pub const UNICODE: &str = "icu4x-2.4.0/1";

/// The version of the tables of national collations. They do not follow CLDR: it goes up when an error is mended.
pub const NATIONAL: &str = "1";

/// COLL-VERSION and ICU-VERSION, as RDB$SPECIFIC_ATTRIBUTES shows them.
pub const SPECIFIC_ATTRIBUTES: &str = "COLL-VERSION=icu4x-2.4;ICU-VERSION=2.4";
