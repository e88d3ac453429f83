//! What is being bound: blocks of queries, the names that can be seen, parameters, and what the plan's frame needs.

use std::collections::BTreeSet;

use farbird_catalog::{Access, AccessPrivilege, ObjectKind, Routine};
use farbird_expression::{Expression, FrameSize};
use farbird_types::{CharacterSet, ColumnType, Error, Result, SqlType, Value, isc};

use crate::bind::error::{dsql, sqlcode};
use crate::bind::namespace::{CommonTableScope, Namespace, SharedQuery};
use crate::bind::prepared::VariableScope;
use crate::bound::column::Origin;
use crate::bound::environment::Environment;
use crate::bound::query::{Block, ToldTable};
use crate::bound::shape::{ParameterType, Shape};

/// Deepest nesting of views, computed columns and subqueries: they can be defined through each other.
const NESTING_MAX: usize = 128;

/// A value with its type.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    /// The value.
    pub(crate) expression: Expression,
    /// Its type; [`SqlType::Null`] for a bare NULL, and as long as the type is not known ([`Bound::shape`]).
    pub(crate) column_type: ColumnType,
    /// The column that it is, unchanged.
    pub(crate) origin: Option<Origin>,
    /// The parameters in it whose types are not known yet.
    pub(crate) shape: Option<Box<Shape>>,
    /// In dialect 1, if it was computed in another type than it is said to have: that one. The value is a conversion from it
    /// then (see `bind::dialect_one`).
    pub(crate) computed_as: Option<SqlType>,
    /// A VARCHAR that clients are told to be a CHAR: see [`crate::bound::query::OutputColumn::sent_as_char`].
    pub(crate) sent_as_char: bool,
}

impl Bound {
    /// A value that is no column.
    pub(crate) fn new(expression: Expression, sql_type: SqlType, nullable: bool) -> Bound {
        Bound {
            expression,
            column_type: ColumnType { sql_type, nullable },
            origin: None,
            shape: None,
            computed_as: None,
            sent_as_char: false,
        }
    }

    /// The type without nullability.
    pub(crate) fn sql_type(&self) -> &SqlType {
        &self.column_type.sql_type
    }

    /// The value as another type.
    pub(crate) fn converted(self, to: &SqlType) -> Bound {
        if self.computed_as.is_some() && *to == SqlType::Double {
            return self.into_computed().converted(to);
        }
        if let Expression::Constant(Value::Double(double)) = &self.expression
            && matches!(to, SqlType::DecFloat16 | SqlType::DecFloat34)
            && let Some(decimal) = crate::bind::literal::decimal(*double, to)
        {
            return Bound::new(Expression::Constant(decimal), *to, self.column_type.nullable);
        }
        // The value of a parameter is not padded to the length of its CHAR: to make it so is a conversion.
        let from = match self.expression {
            Expression::Parameter(_) => self.column_type.sql_type.of_parameter_value(),
            _ => self.column_type.sql_type,
        };
        let (from, expression) = match (from, to) {
            // An array has no text: without this its bytes would become the BLOB's.
            (SqlType::Array, SqlType::Blob { .. }) => {
                let text = SqlType::varchar(0, CharacterSet::NONE);
                (text, self.expression.converted(&from, &text))
            }
            _ => (from, self.expression),
        };
        let expression = expression.converted(&from, to);
        Bound::new(expression, *to, self.column_type.nullable)
    }
}

/// A column that is part of an aggregate, which says whose aggregate it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AggregatedColumn {
    /// The block whose column it is.
    pub(crate) block: usize,
    /// The block that refers to it.
    pub(crate) seen_from: usize,
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
    /// Those of them that are read so far: number of the scope, and name.
    pub(crate) used_common_tables: BTreeSet<(usize, String)>,
    /// Those that nobody reads, which the client is warned of.
    pub(crate) unused_common_tables: Vec<String>,
    /// What the frame needs so far.
    pub(crate) frame: FrameSize,
    /// Types of parameters, as far as known.
    pub(crate) parameters: Vec<ParameterType>,
    /// Types of parameters that an earlier binding of the statement has found.
    pub(crate) given: Vec<ParameterType>,
    /// The array columns that parameters are for: drivers ask which, to know what elements they are to send.
    pub(crate) array_parameters: Vec<(u32, Origin)>,
    /// Whether something was built of a parameter whose type was not known: see [`crate::bind::inference`].
    pub(crate) has_shapes: bool,
    /// The queries in FROM that may be asked for in several places.
    pub(crate) shared: Vec<SharedQuery>,
    /// What the user must be allowed.
    pub(crate) accesses: BTreeSet<Access>,
    /// Nesting of what is being bound.
    pub(crate) depth: usize,
    /// Whether what is being bound is the definition of a view, computed column or constraint: it sees no variables.
    pub(crate) inside_definition: bool,
    /// The view that is being bound: its tables and functions are used in its owner's name.
    pub(crate) owner_of: Option<String>,
    /// The table of SQL SECURITY DEFINER whose computed column is being bound: it calls functions in its owner's name.
    pub(crate) computing_for: Option<String>,
    /// The outermost block that was referred to from a block inside it, since the binding of a subquery began.
    pub(crate) outermost_reference: usize,
    /// How often variables of a routine were referred to: they may change while a cursor is open.
    pub(crate) variables_used: usize,
    /// Whether routines were called that are declared in the routine around.
    pub(crate) calls_local_routines: bool,
    /// The columns that were referred to while the aggregates around were bound.
    pub(crate) aggregated: Vec<AggregatedColumn>,
    /// How many aggregates are being bound.
    pub(crate) aggregate_depth: usize,
    /// Type of VALUE, while a domain's CHECK is bound.
    pub(crate) domain_value: Option<SqlType>,
    /// The tables of the query in FROM that is bound next, as far as a PLAN clause around it names them.
    pub(crate) told_inside: Vec<ToldTable>,
}

impl<'a> Binder<'a> {
    pub(crate) fn new(environment: &'a Environment, variables: &'a dyn VariableScope) -> Binder<'a> {
        Binder {
            environment,
            variables,
            blocks: vec![Block::default()],
            namespaces: vec![Namespace::new(0)],
            common_tables: Vec::new(),
            used_common_tables: BTreeSet::new(),
            unused_common_tables: Vec::new(),
            frame: FrameSize::default(),
            parameters: Vec::new(),
            given: Vec::new(),
            array_parameters: Vec::new(),
            has_shapes: false,
            accesses: BTreeSet::new(),
            depth: 0,
            inside_definition: false,
            owner_of: None,
            computing_for: None,
            outermost_reference: usize::MAX,
            variables_used: 0,
            calls_local_routines: false,
            shared: Vec::new(),
            aggregated: Vec::new(),
            aggregate_depth: 0,
            domain_value: None,
            told_inside: Vec::new(),
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

    /// Notes that a privilege is needed: by the user or, inside a view, by the view's owner.
    pub(crate) fn access(
        &mut self,
        kind: ObjectKind,
        object: &str,
        column: Option<&str>,
        privilege: AccessPrivilege,
    ) {
        self.note_access(Access { column: column.map(str::to_owned), ..Access::of(kind, object, privilege) });
    }

    /// Notes that a stored procedure or function (`kind`) is called.
    pub(crate) fn call_access(&mut self, kind: ObjectKind, routine: &Routine) {
        self.note_access(Access::of_call(kind, routine));
    }

    /// The package whose routine is being compiled, where its text is what is bound: definitions of others stand in none.
    pub(crate) fn package(&self) -> Option<&str> {
        self.environment.package.as_deref().filter(|_| !self.inside_definition)
    }

    fn note_access(&mut self, access: Access) {
        let kind = access.routine.as_ref().map_or(access.kind, |(kind, _)| *kind);
        let owner_of = match kind {
            ObjectKind::Function => self.owner_of.clone().or_else(|| self.computing_for.clone()),
            // Firebird asks whoever runs the statement for these, also inside a view.
            ObjectKind::Sequence | ObjectKind::Exception => None,
            _ => self.owner_of.clone(),
        };
        self.accesses.insert(Access { owner_of, ..access });
    }

    /// Notes that a column is read: SELECT is granted on whole tables.
    pub(crate) fn column_is_read(&mut self, origin: &Origin) {
        // Columns of procedures have an origin too.
        if let Some(relation) = self.environment.catalog.relations.get(&origin.relation) {
            let name = relation.name.clone();
            self.access(ObjectKind::Relation, &name, None, AccessPrivilege::Select);
        }
    }
}

/// A parameter whose type nothing tells.
pub fn unknown_type() -> Error {
    dsql(sqlcode::VALUES).and(isc::DSQL_DATATYPE_ERR)
}
