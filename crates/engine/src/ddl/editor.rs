//! What a DDL statement has at hand: the catalog it sees, and the ways to change it.

use std::sync::Arc;

use farbird_sql::ast::Expression;
use farbird_store::{IndexId as StoreIndex, LockLevel, RelationId as StoreRelation, StoreError};
use farbird_types::{Result, SqlType, Value};

use crate::bind::{self, Environment, NoVariables};
use crate::build_room::StatementRoom;
use crate::catalog::{Catalog, CatalogObject, Counters, Index, ObjectKind, Relation, layout};
use crate::ddl::error;
use crate::expression::ExecutionContext;

/// One running DDL statement.
pub(super) struct Editor<'e, 'a> {
    pub(super) context: &'e mut ExecutionContext<'a>,
}

impl<'e, 'a> Editor<'e, 'a> {
    pub(super) fn new(context: &'e mut ExecutionContext<'a>) -> Editor<'e, 'a> {
        Editor { context }
    }

    /// The catalog as the statement has made it so far.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.context.transaction.current_catalog()
    }

    /// Sees what others have committed meanwhile.
    pub(super) fn refresh(&self) {
        let committed = self.context.database.catalog();
        self.context.transaction.catalog.lock().refresh(&committed);
    }

    /// Numbers and names for new objects.
    pub(super) fn counters(&self) -> Counters<'a> {
        Counters::new(&self.context.database.store)
    }

    /// Whose objects are made.
    pub(super) fn user(&self) -> &str {
        self.context.definer.as_deref().unwrap_or(&self.context.session.options.user)
    }

    /// Whether a backup is being restored.
    pub(super) fn restores(&self) -> bool {
        self.context.session.settings.lock().restores
    }

    /// What expressions are bound against.
    pub(super) fn environment(&self) -> Environment {
        let options = &self.context.session.options;
        let catalog = self.catalog();
        Environment {
            character_set: options.character_set,
            dialect: catalog.database.dialect,
            catalog,
            first_rows: false,
            package: None,
        }
    }

    /// How stored sources are parsed.
    pub(super) fn parse_options(&self) -> farbird_sql::ParseOptions {
        farbird_sql::ParseOptions::of(farbird_sql::Dialect::numbered(self.catalog().database.dialect))
    }

    /// Creates or replaces an object.
    pub(super) fn put(&mut self, object: CatalogObject) -> Result<()> {
        let (kind, name) = object.identity();
        self.context.transaction.store.catalog_put(&kind.key(&name), &object.encode()?)?;
        self.check_current()?;
        if let CatalogObject::Relation(relation) = &object {
            self.context.transaction.store.note_own_layout(StoreRelation(relation.id.0))?;
        }
        self.context.transaction.catalog.lock().put(object);
        Ok(())
    }

    /// Fails if others have committed definitions since the statement took its catalog, as they may have while it waited
    /// for a lock: what it makes of the old ones would undo theirs.
    ///
    /// # Errors
    /// `isc_obsolete_metadata`, on which the statement runs again.
    fn check_current(&self) -> Result<()> {
        let committed = self.context.database.catalog().version;
        if self.catalog().base_version == committed {
            Ok(())
        } else {
            Err(farbird_types::Error::new(farbird_types::isc::OBSOLETE_METADATA))
        }
    }

    /// Creates or replaces a table or view.
    pub(super) fn put_relation(&mut self, relation: Relation) -> Result<Arc<Relation>> {
        let relation = Arc::new(relation);
        self.put(CatalogObject::Relation(Arc::clone(&relation)))?;
        Ok(relation)
    }

    /// Removes an object.
    pub(super) fn remove(&mut self, kind: ObjectKind, name: &str) -> Result<()> {
        self.context.transaction.store.catalog_delete(&kind.key(name))?;
        self.check_current()?;
        self.context.transaction.catalog.lock().remove(kind, name);
        Ok(())
    }

    /// Removes the privileges on an object of one of these types.
    pub(super) fn forget_privileges(&mut self, object: &str, types: &[i16]) -> Result<()> {
        let catalog = self.catalog();
        for (key, _) in catalog.privileges_on(types, object) {
            self.remove(ObjectKind::Privilege, key)?;
        }
        Ok(())
    }

    /// Fails if others keep rows of a temporary table, or, where an index is to be added, this session does: their rows would lack
    /// its keys.
    pub(super) fn check_rows_are_free(&self, relation: &Relation, adds_index: bool) -> Result<()> {
        let (store, id) = (&self.context.transaction.store, StoreRelation(relation.id.0));
        let is_kept = store.is_kept_by_others(id) || adds_index && store.keeps(id);
        if is_kept { Err(error::temporary_table_in_use(&relation.name)) } else { Ok(()) }
    }

    /// Locks a table until the end of the transaction.
    pub(super) fn lock(&self, relation: &Relation, level: LockLevel) -> Result<()> {
        self.context.transaction.store.lock_relation(StoreRelation(relation.id.0), level).map_err(
            |error| {
                let conflict =
                    matches!(error, StoreError::LockConflict { .. } | StoreError::LockTimeout { .. });
                let status = farbird_types::Error::from(error);
                if conflict { error::table_in_use(&relation.name, status) } else { status }
            },
        )?;
        self.check_current()
    }

    /// What sorting keys may take.
    pub(super) fn build_room(&self) -> StatementRoom {
        StatementRoom::new(&self.context.budget, self.context.session.parallel_workers())
    }

    /// Fills an index from the rows that there are.
    pub(super) fn build_index(&self, relation: &Relation, index: &Index) -> Result<()> {
        let definition = layout(relation);
        let store = &self.context.transaction.store;
        store.build_index(&definition, StoreIndex(index.id.0), &self.build_room()).map_err(
            |error| match error {
                StoreError::UniqueViolation { values, .. } => duplicate_key(relation, index, &values),
                StoreError::KeyTooLong { .. } => error::index_key_too_big(&index.name),
                other => other.into(),
            },
        )
    }

    /// Gives an index's space back with the commit.
    pub(super) fn drop_index(&self, index: &Index) -> Result<()> {
        Ok(self.context.transaction.store.drop_index(StoreIndex(index.id.0))?)
    }

    /// The value of a default, now, in the type of its column.
    pub(super) fn evaluate(&mut self, expression: &Expression, target: &SqlType) -> Result<Value> {
        let bound = bind::bind_expression(&self.environment(), expression, &NoVariables, Some(target))?;
        bound.evaluate(self.context)
    }
}

/// Rows that exist have the same key.
fn duplicate_key(relation: &Relation, index: &Index, values: &[Value]) -> farbird_types::Error {
    use farbird_types::{Error, isc};
    let constraint =
        relation.constraints.iter().find(|constraint| constraint.index() == Some(index.name.as_str()));
    let error = match constraint {
        Some(constraint) => {
            Error::new(isc::UNIQUE_KEY_VIOLATION).with(constraint.name.as_str()).with(relation.name.as_str())
        }
        None => Error::new(isc::NO_DUP).with(index.name.as_str()),
    };
    error.and(isc::IDX_KEY_VALUE).with(key_text(&index.columns, values))
}

/// A key as messages show it: `("A" = 1, "B" = 'x')`.
pub(super) fn key_text(columns: &[String], values: &[Value]) -> String {
    let parts: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(number, value)| {
            let column = columns.get(number).map_or("<expression>", String::as_str);
            let shown = match value {
                Value::Null => "NULL".to_owned(),
                Value::Text(text) => format!("'{}'", text.decode_lossy()),
                Value::Date(_)
                | Value::Time(_)
                | Value::Timestamp(_)
                | Value::TimeTz(_)
                | Value::TimestampTz(_) => {
                    format!("'{}'", farbird_types::convert::to_display_text(value))
                }
                _ => farbird_types::convert::to_display_text(value),
            };
            if columns.is_empty() { shown } else { format!("\"{column}\" = {shown}") }
        })
        .collect();
    format!("({})", parts.join(", "))
}
