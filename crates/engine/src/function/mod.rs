//! The built-in scalar functions and aggregates.
//!
//! A function is a row of a table: name, how its result type follows from its arguments, and how it is evaluated. The
//! binder looks names up here; evaluation gets values, never expressions. Functions with special evaluation (COALESCE,
//! CASE, IIF, DECODE, NULLIF: not all arguments are evaluated) are bound to expressions of their own and are not here.
//! Forms with keywords (EXTRACT, SUBSTRING, TRIM ...) are turned into plain calls by [`call::keyword_call`].
//!
//! Source: Firebird 5 language reference, chapters Built-in Scalar Functions and Aggregate Functions.

pub mod aggregate;
pub mod argument;
pub mod bits;
pub mod blob_util;
pub mod call;
pub mod context_variable;
pub mod date;
pub mod decfloat;
pub mod encoding;
pub mod number;
pub mod record_key;
pub mod result_type;
pub mod text;

use std::any::Any;

use farbird_types::{ColumnType, Error, Result, SqlType, Value, isc};
use farbird_vector::{Column, Selection};

use crate::execute::context::ExecutionContext;

/// Any number of arguments, as the upper end of an arity.
pub const ARITY_UNBOUNDED: usize = usize::MAX;

/// What is known of an argument when a call is bound.
#[derive(Debug, Clone, Copy)]
pub struct Argument<'a> {
    /// Its type. A parameter without type comes as [`SqlType::Null`], as a bare NULL does.
    pub column_type: ColumnType,
    /// Its value, if it is a constant: the result type of some calls depends on it (LPAD's length, EXTRACT's part).
    pub constant: Option<&'a Value>,
}

impl Argument<'_> {
    /// The argument's type without nullability.
    pub fn sql_type(&self) -> &SqlType {
        &self.column_type.sql_type
    }
}

/// A built-in scalar function.
pub struct ScalarFunction {
    /// Name, upper-case; also the column's default label (`CHAR_LENGTH`).
    pub name: &'static str,
    /// Fewest and most arguments.
    pub arity: (usize, usize),
    /// Result type from the function's name and the arguments; call it through [`ScalarFunction::bind`].
    pub result: fn(&'static str, &[Argument<'_>]) -> Result<ColumnType>,
    /// What a `?` in the given argument place is told to be, beside these other arguments, if the function knows. It is
    /// asked for one place after the other, and sees the types of those before.
    pub parameter_type: fn(usize, &[Argument<'_>]) -> Option<ColumnType>,
    /// The computation itself; call it through [`ScalarFunction::evaluate`].
    pub body: ScalarBody,
    /// Whether any NULL argument makes the result NULL without the body being asked.
    pub strict: bool,
    /// Same arguments, same result, within one statement: constant calls are folded.
    pub deterministic: bool,
}

/// The types that binding found for one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature {
    /// Of the arguments, parameters included.
    pub arguments: Vec<ColumnType>,
    /// Of the result.
    pub result: ColumnType,
}

/// How a scalar function is computed. BLOB arguments come as ids, to be read through the context.
pub type ScalarBody = fn(&mut ExecutionContext<'_>, &Call<'_>) -> Result<Value>;

/// One call of a scalar function at run time.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Name of the function, for errors.
    pub name: &'static str,
    /// The arguments.
    pub arguments: &'a [Value],
    /// Their types and the result's.
    pub signature: &'a Signature,
}

impl<'a> Call<'a> {
    /// An argument; NULL if the call has fewer.
    pub fn argument(&self, index: usize) -> &'a Value {
        const NULL: Value = Value::Null;
        self.arguments.get(index).unwrap_or(&NULL)
    }

    /// The type of an argument; that of NULL if the call has fewer.
    pub fn argument_type(&self, index: usize) -> &'a SqlType {
        self.signature.arguments.get(index).map_or(&SqlType::Null, |column| &column.sql_type)
    }

    /// The result's type.
    pub fn result_type(&self) -> &'a SqlType {
        &self.signature.result.sql_type
    }
}

impl ScalarFunction {
    /// Computes one call, with the types that [`ScalarFunction::bind`] found.
    ///
    /// # Errors
    /// Those of the function, mostly `expression_eval_err` with one of `sysf_*`, or `arith_except`.
    pub fn evaluate(
        &self,
        context: &mut ExecutionContext<'_>,
        arguments: &[Value],
        signature: &Signature,
    ) -> Result<Value> {
        if self.strict && arguments.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        (self.body)(context, &Call { name: self.name, arguments, signature })
    }

    /// The types of a call with these arguments.
    ///
    /// # Errors
    /// `funmismat` for a wrong number of arguments, `expression_eval_err` for a kind that the function does not take.
    pub fn bind(&self, arguments: &[Argument<'_>]) -> Result<Signature> {
        if arguments.len() < self.arity.0 || arguments.len() > self.arity.1 {
            return Err(Error::new(isc::FUNMISMAT).with(self.name));
        }
        let result = (self.result)(self.name, arguments)?;
        Ok(Signature { arguments: arguments.iter().map(|argument| argument.column_type).collect(), result })
    }
}

/// A built-in aggregate function.
pub struct AggregateFunction {
    /// Name, upper-case.
    pub name: &'static str,
    /// Fewest and most arguments; COUNT(*) has none.
    pub arity: (usize, usize),
    /// Result type from the argument types.
    pub result: fn(&'static str, &[ColumnType]) -> Result<ColumnType>,
    /// A fresh accumulator for one group, given the argument types and the result type.
    pub start: fn(&[ColumnType], &ColumnType) -> Box<dyn Accumulator>,
}

/// Collects the rows of one group.
pub trait Accumulator: Any + Send {
    /// Takes one row's arguments. NULL handling is the function's own (most skip it).
    fn add(&mut self, context: &mut ExecutionContext<'_>, arguments: &[Value]) -> Result<()>;

    /// Takes rows whose arguments are computed already: the same as to add them one by one, in order.
    fn add_columns(
        &mut self,
        context: &mut ExecutionContext<'_>,
        arguments: &[Column<'_>],
        places: Selection<'_>,
    ) -> Result<()> {
        add_one_by_one(self, context, arguments, places)
    }

    /// A copy of it, if what several have collected can be put together by [`Accumulator::merge`].
    fn fork(&self) -> Option<Box<dyn Accumulator>> {
        None
    }

    /// Takes what another accumulator of the same call has collected of rows behind its own.
    ///
    /// # Errors
    /// As adding those rows; an internal error if [`Accumulator::fork`] gives none.
    fn merge(&mut self, _: &dyn Accumulator, _: &mut ExecutionContext<'_>) -> Result<()> {
        Err(misused())
    }

    /// Whether rows can be taken back again, with the same result as if they had never been added.
    fn can_remove(&self) -> bool {
        false
    }

    /// Takes back a row that was added.
    ///
    /// # Errors
    /// As adding it; an internal error unless [`Accumulator::can_remove`].
    fn remove(&mut self, _: &mut ExecutionContext<'_>, _: &[Value]) -> Result<()> {
        Err(misused())
    }

    /// The result so far; windows ask more than once.
    fn result(&self, context: &mut ExecutionContext<'_>) -> Result<Value>;
}

/// A mistake of ours: an accumulator was asked for what its function cannot do.
fn misused() -> Error {
    Error::internal("an aggregate was used in a way that it does not offer")
}

/// The accumulator of the same call that another one is to take.
fn of_same_call<A: Accumulator>(other: &dyn Accumulator) -> Result<&A> {
    let other: &dyn Any = other;
    other.downcast_ref().ok_or_else(misused)
}

/// Adds rows whose arguments are computed already.
fn add_one_by_one<A: Accumulator + ?Sized>(
    accumulator: &mut A,
    context: &mut ExecutionContext<'_>,
    arguments: &[Column<'_>],
    places: Selection<'_>,
) -> Result<()> {
    let mut result = Ok(());
    let mut row = Vec::with_capacity(arguments.len());
    places.for_each(|place| {
        if result.is_ok() {
            row.clear();
            let mut values = arguments.iter().map(|argument| argument.value(place));
            let computed = values.try_for_each(|value| value.map(|value| row.push(value)));
            result = computed.and_then(|()| accumulator.add(context, &row));
        }
    });
    result
}

/// The scalar function of this (upper-case) name.
pub fn lookup_scalar(name: &str) -> Option<&'static ScalarFunction> {
    const TABLES: [&[ScalarFunction]; 9] = [
        text::FUNCTIONS,
        number::FUNCTIONS,
        bits::FUNCTIONS,
        date::FUNCTIONS,
        encoding::FUNCTIONS,
        decfloat::FUNCTIONS,
        context_variable::FUNCTIONS,
        record_key::FUNCTIONS,
        blob_util::FUNCTIONS,
    ];
    TABLES.into_iter().flatten().find(|function| function.name == name)
}

/// The aggregate function of this (upper-case) name.
pub fn lookup_aggregate(name: &str) -> Option<&'static AggregateFunction> {
    aggregate::FUNCTIONS.iter().find(|function| function.name == name)
}

/// Fills `bytes` with randomness of the operating system.
fn random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|error| Error::new(isc::RANDOM).with(error.to_string()))
}
