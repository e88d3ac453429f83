//! The functions by their names.

use crate::accumulator::AggregateFunction;
use crate::scalar::ScalarFunction;
use crate::{
    aggregate, bits, blob_util, context_variable, cryptography, date, decfloat, encoding, number, record_key,
    text, time_zone_util,
};

/// The scalar function of this (upper-case) name: `package.name` for what a system package is made of.
pub fn lookup_scalar(name: &str) -> Option<&'static ScalarFunction> {
    const TABLES: [&[ScalarFunction]; 11] = [
        text::FUNCTIONS,
        number::FUNCTIONS,
        bits::FUNCTIONS,
        date::FUNCTIONS,
        encoding::FUNCTIONS,
        cryptography::FUNCTIONS,
        decfloat::FUNCTIONS,
        context_variable::FUNCTIONS,
        record_key::FUNCTIONS,
        blob_util::FUNCTIONS,
        time_zone_util::FUNCTIONS,
    ];
    TABLES.into_iter().flatten().find(|function| function.name == name)
}

/// The aggregate function of this (upper-case) name.
pub fn lookup_aggregate(name: &str) -> Option<&'static AggregateFunction> {
    aggregate::FUNCTIONS.iter().find(|function| function.name == name)
}
