//! What running statements ask of the floors above them, and who answers.

use std::sync::Arc;

use farbird_sql::ast::DdlStatement;
use farbird_types::{Result, Value};

use crate::catalog::Relation;
use crate::ddl;
use crate::execute::Operators;
use crate::expression::{Above, Definitions, ExecutionContext, SystemTables};
use crate::psql::Psql;
use crate::system;

/// The floors of this engine.
pub(crate) static ABOVE: Above =
    Above { subqueries: &Operators, routines: &Psql, system_tables: &Engine, definitions: &Engine };

/// What is done on this floor.
struct Engine;

impl SystemTables for Engine {
    fn rows(
        &self,
        relation: &Relation,
        wanted: &[bool],
        context: &mut ExecutionContext<'_>,
    ) -> Result<Vec<Vec<Value>>> {
        system::rows(context, relation, wanted)
    }

    fn stop(&self, relation: &Relation, row: &[Value], context: &ExecutionContext<'_>) -> Result<()> {
        system::stop(context, relation, row)
    }

    fn change(
        &self,
        relation: &Relation,
        old: &[Value],
        new: &[Value],
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        system::change(context, relation, old, new)
    }
}

impl Definitions for Engine {
    fn execute(
        &self,
        statement: &DdlStatement,
        text: &Arc<str>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        ddl::execute(context, statement, text)
    }
}
