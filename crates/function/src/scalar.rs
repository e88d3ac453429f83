//! What a scalar function is: a row of a table, and a call of it.

use farbird_types::{ColumnType, Error, Result, SqlType, Value, isc};

use crate::context::Context;

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
    #[inline]
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
pub type ScalarBody = fn(&mut Context<'_>, &Call<'_>) -> Result<Value>;

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
    #[inline]
    pub fn argument(&self, index: usize) -> &'a Value {
        const NULL: Value = Value::Null;
        self.arguments.get(index).unwrap_or(&NULL)
    }

    /// The type of an argument; that of NULL if the call has fewer.
    #[inline]
    pub fn argument_type(&self, index: usize) -> &'a SqlType {
        self.signature.arguments.get(index).map_or(&SqlType::Null, |column| &column.sql_type)
    }

    /// The result's type.
    #[inline]
    pub fn result_type(&self) -> &'a SqlType {
        &self.signature.result.sql_type
    }
}

impl ScalarFunction {
    /// Computes one call, with the types that [`ScalarFunction::bind`] found.
    ///
    /// # Errors
    /// Those of the function, mostly `expression_eval_err` with one of `sysf_*`, or `arith_except`.
    #[inline]
    pub fn evaluate(
        &self,
        context: &mut Context<'_>,
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
