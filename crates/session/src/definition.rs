//! What a DDL trigger is told of the statement that fires it: the namespace DDL_TRIGGER of RDB$GET_CONTEXT.

use std::sync::Arc;

use farbird_sql::ast::DdlEvent;

/// A definition whose triggers are running.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchedDefinition {
    /// EVENT_TYPE, OBJECT_TYPE, DDL_EVENT.
    pub event: DdlEvent,
    /// OBJECT_NAME: where the statement renames, the name that holds at the moment.
    pub object: String,
    /// OLD_OBJECT_NAME and NEW_OBJECT_NAME, of a statement that renames.
    pub renamed: Option<(String, String)>,
    /// SQL_TEXT.
    pub sql: Arc<str>,
}
