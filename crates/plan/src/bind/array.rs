//! Arrays: an element of one, and arrays where other values are expected.
//!
//! What an array is an array of is said by the column it comes from, a view's too. Source: the answers of Firebird 5.

use farbird_expression::{Expression, FunctionReference};
use farbird_function::{Signature, array};
use farbird_sql::ast::{self, ExpressionKind};
use farbird_types::{CharacterSet, ColumnType, Error, Result, SqlType, isc};

use crate::bind::binder::{Binder, Bound};
use crate::bind::error::{dsql, sqlcode, unknown_column};
use crate::bound::column::Origin;
use crate::modification::{Target, TargetColumn};

/// What an array becomes where a text is expected: an error as soon as there is one, since arrays have no text.
const AS_TEXT: SqlType = SqlType::varchar(20, CharacterSet::NONE);

impl Binder<'_> {
    /// Binds `array[subscript, ...]`.
    ///
    /// # Errors
    /// `dsql_only_can_subscript_array` for other columns, `dsql_invalid_array` for what is no column.
    pub(crate) fn bind_array_element(
        &mut self,
        array: &ast::Expression,
        subscripts: &[ast::Expression],
    ) -> Result<Bound> {
        let ExpressionKind::Column { qualifier, name } = &array.kind else { return Err(invalid_array()) };
        let position = qualifier.as_ref().map_or(name.position, |qualifier| qualifier.position);
        let Some(column) = self.resolve_column(qualifier.as_ref(), name.as_str(), position)? else {
            let qualifier = qualifier.as_ref();
            let is_variable =
                self.variables.variable(qualifier.map(ast::Name::as_str), name.as_str()).is_some();
            return Err(match is_variable {
                true => invalid_array(),
                false => unknown_column(qualifier, name.as_str(), position),
            });
        };
        let shape = column.origin.as_ref().and_then(|origin| origin.array.clone());
        let Some(shape) = shape.filter(|_| *column.sql_type() == SqlType::Array) else {
            return Err(dsql(sqlcode::NOT_ALLOWED)
                .and(isc::DSQL_ONLY_CAN_SUBSCRIPT_ARRAY)
                .with(name.as_str()));
        };
        let mut arguments = vec![column.expression];
        let mut argument_types = vec![column.column_type];
        for subscript in subscripts {
            let mut bound = self.bind_value(subscript)?;
            self.tell(&mut bound, Some(ColumnType { sql_type: SqlType::INTEGER, nullable: true }))?;
            argument_types.push(bound.column_type);
            arguments.push(bound.expression);
        }
        let result = ColumnType { sql_type: shape.element, nullable: true };
        let expression = Expression::Function {
            function: FunctionReference(&array::ELEMENT),
            arguments,
            signature: Box::new(Signature { arguments: argument_types, result }),
        };
        // Called as its array is.
        let origin = column.origin.map(|origin| Origin { array: None, ..origin });
        Ok(Bound { origin, ..Bound::new(expression, result.sql_type, true) })
    }

    /// Notes a parameter that an array column is set to.
    pub(crate) fn note_array_parameter(
        &mut self,
        value: &ast::Expression,
        target: &Target,
        column: &TargetColumn,
    ) {
        if let (ExpressionKind::Parameter(number), SqlType::Array) = (&value.kind, column.sql_type) {
            let origin = Origin {
                field: column.name.clone(),
                relation: target.relation.name.clone(),
                owner: target.relation.owner.clone(),
                ..Origin::default()
            };
            self.array_parameters.push((*number, origin));
        }
    }
}

fn invalid_array() -> Error {
    dsql(sqlcode::SYNTAX).and(isc::DSQL_INVALID_ARRAY)
}

/// A value as a function or `||` takes it: an array as a text, which it cannot become; others as they are.
pub(crate) fn unless_array(bound: Bound) -> Bound {
    if *bound.sql_type() == SqlType::Array { bound.converted(&AS_TEXT) } else { bound }
}

/// Checks that values of a type can be sorted and told apart.
///
/// # Errors
/// `invalid_sort_datatype` for arrays.
pub(crate) fn check_sortable(sql_type: &SqlType) -> Result<()> {
    match sql_type {
        SqlType::Array => Err(Error::new(isc::INVALID_SORT_DATATYPE).with("ARRAY")),
        _ => Ok(()),
    }
}
