//! Expressions and conditions of indexes, as the store evaluates them: on a row alone.
//!
//! The store knows no statement, so there is no context to evaluate in. What is evaluated here stands in a world of its
//! own instead: an empty database in memory, a user without a name. An index expression can look at nothing but its
//! row, and must give the same value for it for ever: in this world it cannot do otherwise.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use farbird_sql::{Dialect, ParseOptions};
use farbird_store::{KeyExpression, RowPredicate, Store, StoreOptions, TransactionOptions};
use farbird_types::{CharacterSet, Error, Result, SqlType, Timestamp, TimestampTz, Value, isc};
use parking_lot::Mutex;

use crate::above::ABOVE;
use crate::api::{AttachOptions, ClientDescription, TransactionParameters};
use crate::bind::{self, Environment};
use crate::budget::{Account, Limits};
use crate::catalog::{
    Catalog, CatalogChanges, Column, Index, IndexCompiler, Relation, Slots, set_index_compiler,
};
use crate::clock;
use crate::database::Database;
use crate::expression::ExecutionContext;
use crate::expression::{BoundExpression, Expression};
use crate::session::trace::Tracer;
use crate::session::{Activity, Interrupt, Session, SessionSettings};
use crate::transaction::{Transaction, TransactionCatalog};
use crate::users::NoUsers;

/// How the catalog comes to its indexes' expressions.
struct Compiler;

impl IndexCompiler for Compiler {
    fn value(
        &self,
        relation: &Relation,
        index: &Index,
        source: &str,
    ) -> Result<(Arc<dyn KeyExpression>, SqlType)> {
        let expression = IndexExpression::bind(relation, index, source, None)?;
        let sql_type = expression.bound.column_type.sql_type;
        Ok((Arc::new(expression), sql_type))
    }

    fn condition(&self, relation: &Relation, index: &Index, source: &str) -> Result<Arc<dyn RowPredicate>> {
        let condition = IndexExpression::bind(relation, index, source, Some(&SqlType::Boolean))?;
        Ok(Arc::new(condition))
    }
}

/// Gives the catalog what it needs to know the layouts of tables: before a database is opened.
pub(crate) fn install() {
    set_index_compiler(&Compiler);
}

/// An expression over the rows of a table.
struct IndexExpression {
    source: String,
    bound: BoundExpression,
    /// Whose it is, for errors.
    index: String,
    table: String,
}

impl IndexExpression {
    fn bind(
        relation: &Relation,
        index: &Index,
        source: &str,
        target: Option<&SqlType>,
    ) -> Result<IndexExpression> {
        let dialect = index.dialect;
        let mut catalog = Catalog::empty();
        Arc::make_mut(&mut catalog.database).dialect = dialect;
        let environment = Environment {
            catalog: Arc::new(catalog),
            character_set: CharacterSet::UTF8,
            dialect,
            first_rows: false,
            package: None,
        };
        let expression =
            farbird_sql::parse_expression(source, &ParseOptions::of(Dialect::numbered(dialect)))?;
        let relation = Arc::new(relation.clone());
        let bound = bind::bind_row_expression(&environment, &relation, &expression, target)?;
        if looks_further(&bound.expression) || reads_blob(&bound.expression, &blob_slots(&relation)) {
            return Err(Error::new(isc::WISH_LIST));
        }
        let (index, table) = (index.name.clone(), relation.name.clone());
        Ok(IndexExpression { source: source.to_owned(), bound, index, table })
    }

    /// The status of a row whose value cannot be computed.
    fn failed(&self, failure: Error) -> Error {
        let (index, table) = (self.index.as_str(), self.table.as_str());
        Error::new(isc::EXPRESSION_EVAL_INDEX).with(index).with(table).and_all(failure)
    }
}

/// Whether an expression looks at more than a row, or gives something else each time.
fn looks_further(expression: &Expression) -> bool {
    expression.is_volatile()
        || expression.runs_code()
        || expression.any(&|part| {
            matches!(
                part,
                Expression::Context(_)
                    | Expression::ErrorContext(_)
                    | Expression::Parameter(_)
                    | Expression::DbKey { .. }
                    | Expression::RecordVersion { .. }
            )
        })
}

/// The slots of a table's BLOBs.
fn blob_slots(relation: &Relation) -> Vec<usize> {
    let is_blob = |column: &&Column| matches!(column.sql_type, SqlType::Blob { .. } | SqlType::Array);
    let blobs = relation.columns.iter().filter(is_blob);
    blobs.map(|column| usize::from(column.field_id)).collect()
}

/// Whether an expression reads a BLOB. To ask whether there is one is not to read it.
fn reads_blob(expression: &Expression, blobs: &[usize]) -> bool {
    match expression {
        Expression::Column(slot) => blobs.contains(slot),
        Expression::IsNull(operand) if matches!(**operand, Expression::Column(_)) => false,
        other => {
            let mut reads = false;
            other.for_each_child(&mut |child| reads |= reads_blob(child, blobs));
            reads
        }
    }
}

impl fmt::Debug for IndexExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

impl KeyExpression for IndexExpression {
    fn evaluate(&self, row: &[Value]) -> Result<Value> {
        apart(|context| self.bound.evaluate_on(row, context)).map_err(|failure| self.failed(failure))
    }
}

impl RowPredicate for IndexExpression {
    fn holds(&self, row: &[Value]) -> Result<bool> {
        apart(|context| Ok(self.bound.truth_on(row, context)? == Some(true)))
    }
}

/// The world in which index expressions are evaluated.
struct World {
    database: Arc<Database>,
    session: Session,
    transaction: Transaction,
}

impl World {
    fn new() -> Result<World> {
        let options =
            StoreOptions { cache_bytes: 1 << 20, background_sweep: false, ..StoreOptions::default() };
        let store = Store::in_memory(options)?;
        let interrupt = Arc::new(Interrupt::new());
        let transaction = store.begin(TransactionOptions::default(), Arc::clone(&interrupt.cancel))?;
        let catalog = Catalog::empty();
        let budget = Account::server(Limits::default());
        let now = TimestampTz { utc: Timestamp::default(), zone: clock::DEFAULT_ZONE };
        let session = Session {
            id: 0,
            options: AttachOptions {
                user: String::new(),
                role: None,
                character_set: CharacterSet::UTF8,
                dialect: 3,
                time_zone: None,
                no_database_triggers: true,
                client: ClientDescription::default(),
            },
            server: Default::default(),
            trusted_role: None,
            attached_at: now,
            is_admitted: AtomicBool::new(true),
            settings: Mutex::new(SessionSettings {
                role: None,
                time_zone: clock::DEFAULT_ZONE,
                original_time_zone: clock::DEFAULT_ZONE,
                statement_timeout: None,
                default_statement_timeout: None,
                first_rows: None,
                default_first_rows: false,
                decimal: Default::default(),
                original_decimal: Default::default(),
                bindings: Default::default(),
                process_id: None,
                restores: false,
            }),
            context_variables: Mutex::new(BTreeMap::new()),
            watched_definitions: Mutex::default(),
            restored: Mutex::default(),
            interrupt,
            activity: Mutex::new(Activity::default()),
            budget: budget.open(),
            tally: Arc::default(),
            tracer: Tracer::unwatched(),
            profiler: Arc::default(),
        };
        Ok(World {
            transaction: Transaction {
                store: transaction,
                parameters: TransactionParameters::default(),
                catalog: Mutex::new(TransactionCatalog {
                    current: Arc::new(catalog.clone()),
                    changes: CatalogChanges::default(),
                }),
                user_changes: Mutex::new(Vec::new()),
                kept: Slots::default(),
                context_variables: Mutex::new(BTreeMap::new()),
            },
            database: Arc::new(Database::new(
                Path::new(""),
                Arc::new(store),
                catalog,
                Arc::new(NoUsers),
                &budget,
            )),
            session,
        })
    }
}

/// Evaluates something in that world; it is made when it is first needed.
fn apart<T>(evaluate: impl FnOnce(&mut ExecutionContext<'_>) -> Result<T>) -> Result<T> {
    static WORLD: OnceLock<std::result::Result<Mutex<World>, Error>> = OnceLock::new();
    let world = WORLD
        .get_or_init(|| World::new().map(Mutex::new))
        .as_ref()
        .map_err(|error| Error::new(isc::RANDOM).with(error.to_string()))?
        .lock();
    let view = world.transaction.store.view()?;
    let now = TimestampTz { utc: Timestamp::default(), zone: clock::DEFAULT_ZONE };
    let budget = world.session.budget.statement();
    let World { database, session, transaction } = &*world;
    let mut context =
        ExecutionContext::new(&ABOVE, database, session, transaction, view, now, Vec::new(), budget);
    // An index holds the same values whenever they are computed.
    context.cast.now = Timestamp::default;
    evaluate(&mut context)
}
