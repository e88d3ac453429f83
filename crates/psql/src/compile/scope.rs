//! What names mean in the routine being compiled.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use farbird_catalog::Routine;
use farbird_plan::bind::{ComputedVariable, LocalFunction, RowKeyVariable, Variable, VariableScope};
use farbird_sql::ast;
use farbird_types::{ColumnType, Error, Result, isc};

/// A name that values can be read from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) variable: Variable,
    /// Its constraint's number.
    pub(super) constraint: Option<usize>,
    /// Whether it can be assigned to.
    pub(super) writable: Writable,
}

/// Whether a name can be assigned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writable {
    Yes,
    /// A field of a cursor, of OLD, or of NEW after the change.
    No,
}

/// Where the number of a cursor's row is.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowPlace {
    pub(super) slot: usize,
    /// The cursor's number.
    pub(super) cursor: usize,
}

/// The names of a routine, with their slots.
#[derive(Debug, Default)]
pub(super) struct Scope {
    names: HashMap<(Option<String>, String), Known>,
    row_numbers: HashMap<(String, String), RowPlace>,
    /// How often the fields of each cursor are read, as far as the routine has been compiled.
    reads: RefCell<HashMap<String, usize>>,
    /// Cursors whose fields have been read since that was asked last.
    read_lately: RefCell<BTreeSet<String>>,
    /// Cursors of loops that the place being compiled stands in.
    loop_cursors: HashSet<String>,
    /// Whether it is that of a local routine.
    is_local: bool,
    /// Cursors that the routine declares.
    declared_cursors: HashSet<String>,
    functions: HashMap<String, LocalFunction>,
    procedures: HashMap<String, LocalProcedure>,
    /// Whether statements may have parameters of their own: only the EXECUTE PROCEDURE of a client.
    pub(super) is_statement: bool,
    /// Whether it is a trigger's, and not that of a routine declared in one.
    is_trigger: bool,
    /// Types of those parameters.
    pub(super) parameter_types: Vec<ColumnType>,
    /// The table of a trigger: what OLD and NEW are rows of.
    pub(super) changed_relation: Option<String>,
    /// The numbers of the rows that OLD and NEW are.
    pub(super) row_keys: HashMap<&'static str, RowKeyVariable>,
    /// Computed columns of OLD and NEW, by qualifier and name.
    pub(super) computed: HashMap<(String, String), ComputedVariable>,
}

/// A procedure declared in the routine.
#[derive(Debug, Clone)]
pub(super) struct LocalProcedure {
    pub(super) number: usize,
    pub(super) inputs: Vec<ColumnType>,
    /// How many inputs a call must give.
    pub(super) required: usize,
    pub(super) outputs: Vec<ColumnType>,
    /// It, as what stands in FROM.
    pub(super) source: Arc<Routine>,
}

impl Scope {
    /// No names yet.
    pub(super) fn new(is_trigger: bool) -> Scope {
        Scope { is_trigger, ..Scope::default() }
    }

    /// Adds a name.
    ///
    /// # Errors
    /// `dsql_duplicate_spec` if there is one already.
    pub(super) fn declare(&mut self, name: &str, known: Known) -> Result<()> {
        if self.names.contains_key(&(None, name.to_owned())) || self.declared_cursors.contains(name) {
            return Err(duplicate(name));
        }
        self.names.insert((None, name.to_owned()), known);
        Ok(())
    }

    /// Adds a cursor's field, or a column of NEW or OLD; the latest of several of one name is meant.
    pub(super) fn declare_field(&mut self, qualifier: &str, name: &str, known: Known) {
        self.names.insert((Some(qualifier.to_owned()), name.to_owned()), known);
    }

    /// Takes a cursor's fields away: its loop ends.
    pub(super) fn forget_fields(&mut self, qualifier: &str) {
        self.names.retain(|(own, _), _| own.as_deref() != Some(qualifier));
        self.row_numbers.retain(|(own, _), _| own != qualifier);
        self.loop_cursors.remove(qualifier);
    }

    /// Adds the name of a cursor.
    ///
    /// # Errors
    /// As [`Scope::declare`].
    pub(super) fn declare_cursor(&mut self, name: &str) -> Result<()> {
        // A local routine may give the name of a variable around it to a cursor.
        let is_taken = !self.is_local && self.find(None, name).is_some();
        if is_taken || !self.declared_cursors.insert(name.to_owned()) {
            return Err(duplicate(name));
        }
        Ok(())
    }

    /// A cursor is that of the loop that begins.
    pub(super) fn declare_loop_cursor(&mut self, cursor: &str) {
        self.loop_cursors.insert(cursor.to_owned());
    }

    /// Where a cursor keeps the row number of a table.
    pub(super) fn declare_row_number(&mut self, cursor: &str, relation: &str, place: RowPlace) {
        self.row_numbers.insert((cursor.to_owned(), relation.to_owned()), place);
    }

    /// Where a cursor keeps the row number of a table, and which cursor it is.
    fn row_number(&self, cursor: &str, relation: &str) -> Option<RowPlace> {
        self.row_numbers.get(&(cursor.to_owned(), relation.to_owned())).copied()
    }

    /// The same for what a statement calls its table: a view's rows are those of the table behind it.
    pub(super) fn current_row(&self, cursor: &str, name: &str) -> Option<RowPlace> {
        let mut own = self.row_numbers.iter().filter(|((of, _), _)| of == cursor).map(|(_, place)| *place);
        self.row_number(cursor, name).or_else(|| own.next().filter(|_| own.next().is_none()))
    }

    /// How often the fields of a cursor are read, as far as the routine has been compiled.
    pub(super) fn reads_of(&self, cursor: &str) -> usize {
        self.reads.borrow().get(cursor).copied().unwrap_or(0)
    }

    /// The declared cursors whose fields have been read since this was asked last.
    pub(super) fn cursors_read(&self) -> BTreeSet<String> {
        let mut read = self.read_lately.take();
        // That of a loop stands on a row wherever its fields can be read.
        read.retain(|cursor| self.declared_cursors.contains(cursor) && !self.loop_cursors.contains(cursor));
        read
    }

    pub(super) fn declare_function(&mut self, name: &str, function: LocalFunction) {
        self.functions.insert(name.to_owned(), function);
    }

    pub(super) fn declare_procedure(&mut self, name: &str, procedure: LocalProcedure) {
        self.procedures.insert(name.to_owned(), procedure);
    }

    pub(super) fn procedure(&self, name: &str) -> Option<&LocalProcedure> {
        self.procedures.get(name)
    }

    pub(super) fn find(&self, qualifier: Option<&str>, name: &str) -> Option<&Known> {
        self.names.get(&(qualifier.map(str::to_owned), name.to_owned()))
    }

    /// The variable that a statement wants to assign to.
    ///
    /// # Errors
    /// The status for an unknown column, as Firebird gives it; `read_only_field` for what cannot be assigned to.
    pub(super) fn target(&self, target: &ast::Target) -> Result<Known> {
        let qualifier = target.qualifier.as_ref().map(ast::Name::as_str);
        let shown = match qualifier {
            Some(qualifier) => format!("{qualifier}.{}", target.name),
            None => target.name.text.clone(),
        };
        match self.find(qualifier, target.name.as_str()) {
            Some(known) if known.writable == Writable::Yes => Ok(*known),
            Some(_) => {
                let relation = match (qualifier, &self.changed_relation) {
                    (Some("OLD" | "NEW"), Some(relation)) => Some(relation),
                    _ => None,
                };
                let shown = relation.map_or(shown, |relation| format!("{relation}.{}", target.name));
                Err(Error::new(isc::READ_ONLY_FIELD).with(shown))
            }
            None => Err(unknown(&shown, target.position())),
        }
    }

    /// The names that a local routine sees of the routine that declares it: all but its cursors.
    pub(super) fn for_local_routine(&self) -> Scope {
        let names = self
            .names
            .iter()
            .filter(|((qualifier, _), _)| qualifier.is_none())
            .map(|(key, known)| (key.clone(), *known))
            .collect();
        Scope {
            names,
            row_numbers: HashMap::new(),
            reads: RefCell::default(),
            read_lately: RefCell::default(),
            loop_cursors: HashSet::new(),
            declared_cursors: HashSet::new(),
            is_local: true,
            functions: self.functions.clone(),
            procedures: self.procedures.clone(),
            is_statement: false,
            is_trigger: false,
            parameter_types: Vec::new(),
            changed_relation: None,
            row_keys: HashMap::new(),
            computed: HashMap::new(),
        }
    }

    /// Adds a name of a local routine, which hides one of the routine around it.
    pub(super) fn declare_over(&mut self, name: &str, known: Known) {
        self.names.insert((None, name.to_owned()), known);
    }
}

impl VariableScope for Scope {
    fn variable(&self, qualifier: Option<&str>, name: &str) -> Option<Variable> {
        let known = self.find(qualifier, name)?;
        if let Some(cursor) = qualifier {
            *self.reads.borrow_mut().entry(cursor.to_owned()).or_default() += 1;
            self.read_lately.borrow_mut().insert(cursor.to_owned());
        }
        Some(known.variable)
    }

    fn computed_column(&self, qualifier: &str, name: &str) -> Option<ComputedVariable> {
        self.computed.get(&(qualifier.to_owned(), name.to_owned())).cloned()
    }

    fn row_key(&self, qualifier: &str) -> Option<RowKeyVariable> {
        self.row_keys.get(qualifier).copied()
    }

    fn cursor_row_number(&self, cursor: &str, relation: &str) -> Option<usize> {
        self.row_number(cursor, relation).map(|place| place.slot)
    }

    fn is_loop_cursor(&self, cursor: &str) -> bool {
        self.loop_cursors.contains(cursor)
    }

    fn local_function(&self, name: &str) -> Option<LocalFunction> {
        self.functions.get(name).cloned()
    }

    fn local_procedure(&self, name: &str) -> Option<Arc<Routine>> {
        self.procedures.get(name).map(|procedure| Arc::clone(&procedure.source))
    }

    fn parameter_type(&self, number: usize) -> Option<ColumnType> {
        self.parameter_types.get(number).copied()
    }

    fn is_psql(&self) -> bool {
        !self.is_statement
    }

    fn is_trigger(&self) -> bool {
        self.is_trigger
    }
}

/// A name declared twice.
pub(super) fn duplicate(name: &str) -> Error {
    sql_error(-637).and(isc::DSQL_DUPLICATE_SPEC).with(name)
}

/// A name that is not there.
pub(super) fn unknown(name: &str, position: ast::Position) -> Error {
    let error = sql_error(-206).and(isc::DSQL_FIELD_ERR).and(isc::RANDOM).with(name);
    at(error, position)
}

/// The head of a status of prepare.
pub(super) fn sql_error(sql_code: i32) -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(sql_code)
}

/// Where it happened.
pub(super) fn at(error: Error, position: ast::Position) -> Error {
    let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    error.and(isc::DSQL_LINE_COL_ERROR).with(number(position.line)).with(number(position.column))
}
