//! What is being bound: blocks of queries, the names that can be seen, parameters, and what the plan's frame needs.

use std::collections::BTreeSet;

use farbird_sql::ast;
use farbird_types::{ColumnType, Error, Result, SqlType, Value, isc};

use crate::api::ColumnDescription;
use crate::bind::error::{dsql, sqlcode};
use crate::bind::scope::{CommonTableScope, Namespace};
use crate::bind::source::{Slot, Source, SourceColumn};
use crate::bind::{Access, AccessPrivilege, Environment, VariableScope};
use crate::catalog::ObjectKind;
use crate::execute::frame::FrameSize;
use crate::expression::Expression;
use crate::plan::AggregateCall;

/// Deepest nesting of views, computed columns and subqueries: they can be defined through each other.
const NESTING_MAX: usize = 128;

/// A value with its type.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    /// The value.
    pub(crate) expression: Expression,
    /// Its type; [`SqlType::Null`] for a bare NULL and for a parameter that nothing has told the type of.
    pub(crate) column_type: ColumnType,
    /// The column that it is, unchanged.
    pub(crate) origin: Option<Origin>,
}

/// Where a result column comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Origin {
    /// The column.
    pub(crate) field: String,
    /// Its relation.
    pub(crate) relation: String,
    /// The relation's alias in the query.
    pub(crate) alias: String,
    /// The relation's owner.
    pub(crate) owner: String,
}

impl Bound {
    /// A value that is no column.
    pub(crate) fn new(expression: Expression, sql_type: SqlType, nullable: bool) -> Bound {
        Bound { expression, column_type: ColumnType { sql_type, nullable }, origin: None }
    }

    /// The type without nullability.
    pub(crate) fn sql_type(&self) -> &SqlType {
        &self.column_type.sql_type
    }

    /// The value as another type.
    pub(crate) fn converted(self, to: &SqlType) -> Bound {
        if let Expression::Constant(Value::Double(double)) = &self.expression
            && matches!(to, SqlType::DecFloat16 | SqlType::DecFloat34)
            && let Some(decimal) = crate::bind::literal::decimal(*double, to)
        {
            let column_type = ColumnType { sql_type: *to, ..self.column_type };
            return Bound { expression: Expression::Constant(decimal), column_type, origin: None };
        }
        let expression = self.expression.converted(self.column_type.sql_type_ref(), to);
        Bound { expression, column_type: ColumnType { sql_type: *to, ..self.column_type }, origin: None }
    }
}

/// A view on the type inside a column type.
trait SqlTypeRef {
    fn sql_type_ref(&self) -> &SqlType;
}

impl SqlTypeRef for ColumnType {
    fn sql_type_ref(&self) -> &SqlType {
        &self.sql_type
    }
}

/// One SELECT being bound: the sources of its rows and what is computed from them.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// What its rows come from.
    pub(crate) sources: Vec<Source>,
    /// The columns of the sources that are used: [`Expression::Column`] counts these.
    pub(crate) slots: Vec<Slot>,
    /// What it takes from the blocks around it: register, and value in terms of the block just outside.
    pub(crate) captures: Vec<(usize, Expression)>,
    /// Its aggregates: [`Expression::Aggregate`] counts these.
    pub(crate) aggregates: Vec<AggregateCall>,
    /// Its window functions: [`Expression::Window`] counts these.
    pub(crate) windows: Vec<crate::bind::grouping::BoundWindow>,
    /// Named windows of its WINDOW clause.
    pub(crate) named_windows: Vec<ast::NamedWindow>,
    /// Where aggregates may stand now.
    pub(crate) aggregates_allowed: AggregatesAllowed,
    /// Whether something in it has side effects or gives another value each time.
    pub(crate) volatile: bool,
}

/// Where in a block binding stands, as far as aggregates are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AggregatesAllowed {
    /// FROM, WHERE, GROUP BY.
    #[default]
    No,
    /// Select list, HAVING, ORDER BY.
    Yes,
    /// Inside of an aggregate.
    Inside,
}

impl Block {
    /// The slot of a column of a source.
    pub(crate) fn slot(&mut self, source: usize, column: SourceColumn) -> usize {
        let wanted = Slot { source, column };
        match self.slots.iter().position(|slot| *slot == wanted) {
            Some(place) => place,
            None => {
                self.slots.push(wanted);
                self.slots.len() - 1
            }
        }
    }
}

/// Binds one statement.
pub(crate) struct Binder<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) variables: &'a dyn VariableScope,
    /// Blocks around the place being bound, outermost first.
    pub(crate) blocks: Vec<Block>,
    /// Names that can be seen, outermost first.
    pub(crate) namespaces: Vec<Namespace>,
    /// Common tables that can be seen, outermost first.
    pub(crate) common_tables: Vec<CommonTableScope>,
    /// What the frame needs so far.
    pub(crate) frame: FrameSize,
    /// Types of parameters, as far as known.
    pub(crate) parameters: Vec<Option<ColumnType>>,
    /// What the user must be allowed.
    pub(crate) accesses: BTreeSet<Access>,
    /// Nesting of what is being bound.
    pub(crate) depth: usize,
    /// Whether what is being bound is the definition of a view, computed column or constraint: what it uses is its
    /// owner's matter, not the user's.
    pub(crate) inside_definition: bool,
    /// The outermost block that was referred to from a block inside it, since the binding of a subquery began.
    pub(crate) outermost_reference: usize,
    /// Type of VALUE, while a domain's CHECK is bound.
    pub(crate) domain_value: Option<SqlType>,
}

impl<'a> Binder<'a> {
    pub(crate) fn new(environment: &'a Environment, variables: &'a dyn VariableScope) -> Binder<'a> {
        Binder {
            environment,
            variables,
            blocks: vec![Block::default()],
            namespaces: vec![Namespace::new(0)],
            common_tables: Vec::new(),
            frame: FrameSize::default(),
            parameters: Vec::new(),
            accesses: BTreeSet::new(),
            depth: 0,
            inside_definition: false,
            outermost_reference: usize::MAX,
            domain_value: None,
        }
    }

    /// The block being bound.
    pub(crate) fn block(&mut self) -> &mut Block {
        if self.blocks.is_empty() {
            self.blocks.push(Block::default());
        }
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
    }

    /// A fresh register.
    pub(crate) fn new_register(&mut self) -> usize {
        self.frame.registers += 1;
        self.frame.registers - 1
    }

    /// Goes one level deeper into definitions.
    ///
    /// # Errors
    /// `dsql_max_nesting`-like: too deep.
    pub(crate) fn deeper<T>(&mut self, bind: impl FnOnce(&mut Binder<'a>) -> Result<T>) -> Result<T> {
        if self.depth >= NESTING_MAX {
            return Err(dsql(sqlcode::SYNTAX).and(isc::DSQL_COMMAND_ERR));
        }
        self.depth += 1;
        let result = bind(self);
        self.depth -= 1;
        result
    }

    /// Notes that the user needs a privilege.
    pub(crate) fn access(
        &mut self,
        kind: ObjectKind,
        object: &str,
        column: Option<&str>,
        privilege: AccessPrivilege,
    ) {
        if !self.inside_definition {
            self.accesses.insert(Access {
                kind,
                object: object.to_owned(),
                column: column.map(str::to_owned),
                privilege,
            });
        }
    }

    /// A parameter of the statement.
    pub(crate) fn parameter(&mut self, number: u32) -> Bound {
        let number = number as usize;
        if self.parameters.len() <= number {
            self.parameters.resize(number + 1, None);
        }
        let known = self.parameters.get(number).copied().flatten();
        let column_type = known.unwrap_or(ColumnType { sql_type: SqlType::Null, nullable: true });
        Bound { expression: Expression::Parameter(number), column_type, origin: None }
    }

    /// Whether a value is a parameter that nothing has told the type of yet.
    pub(crate) fn is_untyped(&self, bound: &Bound) -> bool {
        *bound.sql_type() == SqlType::Null
            && match &bound.expression {
                Expression::Parameter(number) => matches!(self.parameters.get(*number), Some(None)),
                _ => false,
            }
    }

    /// Tells a parameter (or a sign in front of it) its type, if nothing has yet. Other values stay as they are.
    pub(crate) fn infer(&mut self, bound: &mut Bound, sql_type: &SqlType) {
        if *sql_type == SqlType::Null || *bound.sql_type() != SqlType::Null {
            return;
        }
        match &bound.expression {
            Expression::Parameter(number) => {
                let number = *number;
                if let Some(place) = self.parameters.get_mut(number)
                    && place.is_none()
                {
                    *place = Some(ColumnType { sql_type: *sql_type, nullable: true });
                    bound.column_type.sql_type = *sql_type;
                }
            }
            Expression::Negate(operand) => {
                let mut inner = Bound { expression: (**operand).clone(), ..bound.clone() };
                self.infer(&mut inner, sql_type);
                bound.column_type = inner.column_type;
            }
            _ => {}
        }
    }

    /// Each of two operands tells the other its type.
    pub(crate) fn infer_pair(&mut self, left: &mut Bound, right: &mut Bound) {
        let (left_type, right_type) = (*left.sql_type(), *right.sql_type());
        self.infer(left, &right_type);
        self.infer(right, &left_type);
    }

    /// Refuses a value whose type nothing tells.
    ///
    /// # Errors
    /// `dsql_datatype_err`.
    pub(crate) fn require_type(&self, bound: &Bound) -> Result<()> {
        if self.is_untyped(bound) { Err(unknown_type()) } else { Ok(()) }
    }

    /// The statement's parameters as prepare describes them. `count` is how many the text has.
    ///
    /// # Errors
    /// `dsql_datatype_err` for one whose type nothing tells.
    pub(crate) fn described_parameters(&self, count: usize) -> Result<Vec<ColumnDescription>> {
        (0..count)
            .map(|number| {
                let column_type = self.parameters.get(number).copied().flatten().ok_or_else(unknown_type)?;
                Ok(ColumnDescription {
                    column_type,
                    field: String::new(),
                    relation: String::new(),
                    relation_alias: String::new(),
                    owner: String::new(),
                    alias: String::new(),
                })
            })
            .collect()
    }
}

/// A parameter whose type nothing tells.
pub(crate) fn unknown_type() -> Error {
    dsql(sqlcode::VALUES).and(isc::DSQL_DATATYPE_ERR)
}
