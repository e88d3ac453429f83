//! Definitions as Firebird runs them: SQL and PSQL, whose names the catalog knows, to BLR.
//!
//! A Firebird keeps of views, routines, triggers, defaults and the like a program beside the source, and runs that program.
//! Farbird runs sources; programs are for backups that a Firebird restores, and for tools that look at them.
//!
//! | file | subject |
//! |---|---|
//! | `compiler` | what a compilation knows: numbers that are taken, how deep it is |
//! | `piece` | values with their types, blocks, assignments |
//! | `map` | values of groups and windows, and the places where they are kept |
//! | `scope`, `common_tables` | the queries around an expression, and the tables of WITH |
//! | `frame` | what a routine has by name: variables, cursors, labels |
//! | `names` | what a name means where it stands |
//! | `value`, `function`, `keyword_function`, `condition` | expressions |
//! | `search` | what an expression is made of |
//! | `data_type` | declared types, by the names of domains and columns |
//! | `table`, `common_table`, `select`, `grouping` | queries; `selected` is what comes of them |
//! | `routine`, `statement`, `execute` | PSQL |
//! | `change`, `merge` | statements that change rows |
//! | `definition`, `view` | whole definitions |
//!
//! # Promises
//! - What is made means what the source means here: names are resolved as of the catalog at hand, and what cannot be told in BLR
//!   is [`Unsupported`], with a reason. It says nothing of who may do it.
//! - Programs are those of Firebird 3, which later ones run too, as long as the definition needs nothing that came later.
//! - No I/O; nesting is bounded.
//!
//! Source: what Firebird 3.0 and 5.0 keep in their RDB$ tables for the same definitions, and the codes of
//! src/include/firebird/impl/blr.h.
#![forbid(unsafe_code)]

mod change;
mod common_table;
mod common_tables;
mod compiler;
mod condition;
mod data_type;
mod definition;
mod execute;
mod failure;
mod frame;
mod function;
mod grouping;
mod keyword_function;
mod map;
mod merge;
mod names;
mod piece;
mod routine;
mod scope;
mod search;
mod select;
mod selected;
mod statement;
mod table;
mod value;
mod view;

use farbird_blr::Code;
use farbird_catalog::{Catalog, Relation, Routine, Trigger};

use compiler::Compiler;
pub use failure::Unsupported;
use frame::Kind;
pub use view::View;

/// A program, or why there is none.
pub type Program = Result<Vec<u8>, Unsupported>;

/// The first context that queries of a procedure or function have; a trigger has two of its own before that.
const FIRST: u16 = 0;
const BEHIND_ROWS: u16 = 2;

/// Of a default, as written.
///
/// # Errors
/// What is not told in BLR here; so of all the others.
pub fn of_default(catalog: &Catalog, source: &str) -> Program {
    definition::default(catalog, source)
}

/// The value of a default, as part of another program.
///
/// # Errors
/// As [`of_default`].
pub fn value_of_default(catalog: &Catalog, source: &str) -> Result<Code, Unsupported> {
    Compiler::new(catalog, BEHIND_ROWS).default_value(source)
}

/// Of a domain's `CHECK (...)`.
///
/// # Errors
/// As [`of_default`].
pub fn of_domain_check(catalog: &Catalog, source: &str) -> Program {
    definition::domain_check(catalog, source)
}

/// Of the expression of a computed column or of an index, with its parentheses.
///
/// # Errors
/// As [`of_default`].
pub fn of_computed(catalog: &Catalog, relation: &Relation, source: &str) -> Program {
    definition::computed(catalog, relation, source)
}

/// Of the condition of an index, without WHERE.
///
/// # Errors
/// As [`of_default`].
pub fn of_index_condition(catalog: &Catalog, relation: &Relation, source: &str) -> Program {
    definition::index_condition(catalog, relation, source)
}

/// Of the triggers of a table's `CHECK (...)`.
///
/// # Errors
/// As [`of_default`].
pub fn of_check(catalog: &Catalog, relation: &Relation, source: &str) -> Program {
    definition::check(catalog, relation, source)
}

/// Of a view.
///
/// # Errors
/// As [`of_default`].
pub fn of_view(catalog: &Catalog, view: &Relation) -> Result<View, Unsupported> {
    view::view(catalog, view)
}

/// Of the triggers of WITH CHECK OPTION, before an UPDATE and before an INSERT.
///
/// # Errors
/// As [`of_default`].
pub fn of_check_option(catalog: &Catalog, view: &Relation) -> Result<[Vec<u8>; 2], Unsupported> {
    view::check_option(catalog, view)
}

/// Of a trigger.
///
/// # Errors
/// As [`of_default`].
pub fn of_trigger(catalog: &Catalog, trigger: &Trigger) -> Program {
    let relation = match &trigger.relation {
        Some(name) => Some(failure::placed(catalog.relation(name))?.as_ref()),
        None => None,
    };
    Compiler::new(catalog, BEHIND_ROWS).trigger(trigger, relation)
}

/// Of a procedure.
///
/// # Errors
/// As [`of_default`].
pub fn of_procedure(catalog: &Catalog, procedure: &Routine) -> Program {
    routine_of(catalog, procedure).routine(procedure, Kind::Procedure)
}

/// Of a function.
///
/// # Errors
/// As [`of_default`].
pub fn of_function(catalog: &Catalog, function: &Routine) -> Program {
    routine_of(catalog, function).routine(function, Kind::Function)
}

fn routine_of<'c>(catalog: &'c Catalog, routine: &'c Routine) -> Compiler<'c> {
    let mut compiler = Compiler::new(catalog, FIRST);
    compiler.package = routine.package.as_deref();
    compiler
}
