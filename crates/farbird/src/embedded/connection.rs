//! A session with a database, and what stops it from elsewhere.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use farbird_engine::api::{StatementHandle, StatementKind, TransactionHandle};
use farbird_engine::attachment::Attachment;
use farbird_engine::session::{Interrupt, StopReason};
use farbird_sql::Dialect;
use parking_lot::Mutex;

use super::error::{Error, Fault, Result};
use super::execute::{self, Executor, Scope};
use super::parameters::Parameters;
use super::prepared::{Prepared, StatementCache};
use super::rows::{FromRow, Rows};
use super::script::Script;
use super::statement::Statement;
use super::table_counts::{self, TableCounts};
use super::transaction::{Transaction, TransactionOptions};

/// A session with a database: transactions, statements, settings of its own.
///
/// `Send + Sync`: threads may share one, and then take turns. Threads that are to work at the same time each need their
/// own. Dropping it rolls back what is open; statements prepared on it may live on, and keep the session alive.
///
/// The methods that take SQL run it in a transaction of its own, committed when they return. [`Connection::transaction`]
/// begins one that holds several statements.
///
/// ```
/// # fn main() -> farbird::Result<()> {
/// let db = farbird::Database::in_memory()?;
/// let connection = db.connect()?;
/// connection.execute("create table fruit (id int primary key, name varchar(20), price numeric(9, 2))", ())?;
/// connection.execute("insert into fruit values (?, ?, ?)", (1, "apple", 1.25))?;
///
/// let transaction = connection.transaction()?;
/// for (id, name) in [(2, Some("pear")), (3, None)] {
///     transaction.execute("insert into fruit (id, name) values (?, ?)", (id, name))?;
/// }
/// transaction.commit()?;
///
/// for row in connection.query("select id, name, price from fruit order by id", ())? {
///     let row = row?;
///     let (id, name): (i32, Option<String>) = (row.get(0)?, row.get("name")?);
///     println!("{id}: {name:?} {:?}", row.get::<Option<farbird::Decimal>>("price")?);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Connection {
    shared: Arc<Shared>,
}

/// What a connection, its transactions and its statements share.
pub(super) struct Shared {
    /// `None` once closed, by whomever.
    attachment: Mutex<Option<Attachment>>,
    interrupt: Arc<Interrupt>,
    /// The dialect of texts.
    dialect: Mutex<Dialect>,
    /// Statements prepared from SQL text, between their uses.
    cache: Mutex<StatementCache>,
}

impl Shared {
    /// Calls the engine; others wait meanwhile.
    ///
    /// # Errors
    /// That the connection is closed, and those of the call.
    pub(super) fn with<T>(&self, call: impl FnOnce(&mut Attachment) -> Result<T>) -> Result<T> {
        let result = match self.attachment.lock().as_mut() {
            Some(attachment) => {
                attachment.wake();
                let result = call(attachment);
                attachment.rest();
                result
            }
            None if self.interrupt.is_closing() => Err(self.interrupt.error().into()),
            None => Err(Fault::Closed.into()),
        };
        self.detach_if_ended();
        result
    }

    /// Calls the engine where nothing can be done about a failure: from a destructor.
    pub(super) fn with_if_open(&self, call: impl FnOnce(&mut Attachment)) {
        if let Some(attachment) = self.attachment.lock().as_mut() {
            attachment.wake();
            call(attachment);
            attachment.rest();
        }
        self.detach_if_ended();
    }

    /// Once somebody has ended the session (DELETE FROM MON$ATTACHMENTS), its transactions are rolled back and their locks
    /// go: at once if it rests, or else when the call that runs returns.
    fn detach_if_ended(&self) {
        if self.interrupt.is_closing()
            && let Some(mut attachment) = self.attachment.try_lock()
            && let Some(attachment) = attachment.take()
            && let Err(error) = attachment.detach()
        {
            tracing::warn!(%error, "closing the database failed");
        }
    }

    /// The dialect of texts.
    pub(super) fn dialect(&self) -> Dialect {
        *self.dialect.lock()
    }

    /// Takes a statement from the cache, or prepares it.
    pub(super) fn prepare(
        self: &Arc<Self>,
        sql: &str,
        transaction: Option<TransactionHandle>,
    ) -> Result<Prepared> {
        let cached = self.cache.lock().take(sql, self.dialect());
        match cached {
            Some(idle) => Ok(Prepared::again(Arc::clone(self), idle)),
            None => Prepared::new(Arc::clone(self), sql, transaction, true),
        }
    }

    /// Keeps a statement for its next use; what has to go for it is dropped.
    pub(super) fn keep(&self, idle: super::prepared::Idle) {
        let oldest = self.cache.lock().put(idle);
        if let Some(oldest) = oldest {
            self.forget(oldest.handle);
        }
    }

    /// Drops a statement of the engine.
    pub(super) fn forget(&self, handle: StatementHandle) {
        self.with_if_open(|attachment| {
            if let Err(error) = attachment.drop_statement(handle) {
                tracing::debug!(%error, "a statement was gone before it was dropped");
            }
        });
    }
}

impl Connection {
    pub(super) fn new(attachment: Attachment) -> Connection {
        let interrupt = attachment.interrupt();
        let shared = Shared {
            attachment: Mutex::new(Some(attachment)),
            interrupt,
            dialect: Mutex::new(Dialect::Three),
            cache: Mutex::new(StatementCache::default()),
        };
        let shared = Arc::new(shared);
        let weak = Arc::downgrade(&shared);
        shared.interrupt.set_on_close(move || {
            if let Some(shared) = weak.upgrade() {
                shared.detach_if_ended();
            }
        });
        Connection { shared }
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Begins a transaction as Firebird does by default: SNAPSHOT, READ WRITE, WAIT.
    ///
    /// # Errors
    /// That the connection is closed; what an ON TRANSACTION START trigger raises.
    pub fn transaction(&self) -> Result<Transaction<'_>> {
        self.transaction_with(&TransactionOptions::new())
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// Those of [`Connection::transaction`], and of reserving tables.
    pub fn transaction_with(&self, options: &TransactionOptions) -> Result<Transaction<'_>> {
        Transaction::start(self, options)
    }

    /// Runs `work` in a transaction: commits if it gives `Ok`, rolls back if it gives `Err` or panics.
    ///
    /// ```
    /// # fn main() -> farbird::Result<()> {
    /// # let connection = farbird::Database::in_memory()?.connect()?;
    /// # connection.execute("create table account (id int, balance int)", ())?;
    /// # connection.execute("insert into account values (1, 100)", ())?;
    /// # connection.execute("insert into account values (2, 0)", ())?;
    /// connection.in_transaction(|transaction| {
    ///     transaction.execute("update account set balance = balance - ? where id = ?", (10, 1))?;
    ///     transaction.execute("update account set balance = balance + ? where id = ?", (10, 2))
    /// })?;
    /// # assert_eq!(connection.query_one::<i32>("select balance from account where id = 2", ())?, 10);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of beginning, of `work`, and of the commit.
    pub fn in_transaction<T, E: From<Error>>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let transaction = self.transaction()?;
        let result = work(&transaction)?;
        transaction.commit()?;
        Ok(result)
    }

    /// Prepares a statement, for use in any of this connection's transactions.
    ///
    /// # Errors
    /// Syntax, unknown names, types that do not go together, privileges that are missing.
    pub fn prepare(&self, sql: &str) -> Result<Statement> {
        let handle = self.shared.with(|attachment| Ok(attachment.start_transaction(Default::default())?))?;
        let prepared = Prepared::new(Arc::clone(&self.shared), sql, Some(handle), false);
        self.shared.with(|attachment| Ok(attachment.rollback(handle)?))?;
        Ok(Statement::new(prepared?))
    }

    /// Runs a statement in a transaction of its own; gives how many rows it inserted, updated and deleted.
    ///
    /// # Errors
    /// Those of the statement and of the commit; nothing has happened then.
    pub fn execute(&self, sql: &str, parameters: impl Parameters) -> Result<u64> {
        execute::execute_text(self, sql, &parameters)
    }

    /// Runs a query in a transaction of its own, which is committed behind the last row. If the rows are dropped before
    /// that it is rolled back: begin a transaction for a SELECT from a procedure that writes.
    ///
    /// # Errors
    /// Those of the statement; those of computing rows come with the rows.
    pub fn query(&self, sql: &str, parameters: impl Parameters) -> Result<Rows<'_>> {
        execute::query_text(self, sql, &parameters)
    }

    /// The one row of a query: a value, or a tuple of values.
    ///
    /// ```
    /// # fn main() -> farbird::Result<()> {
    /// # let connection = farbird::Database::in_memory()?.connect()?;
    /// let (sum, word): (i64, String) =
    ///     connection.query_one("select 2 + cast(? as int), 'word' from rdb$database", (2,))?;
    /// assert_eq!((sum, word.as_str()), (4, "word"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::is_no_row`]; that there are several, or that they are not of this type; those of the statement.
    pub fn query_one<T: FromRow>(&self, sql: &str, parameters: impl Parameters) -> Result<T> {
        execute::query_text_optional(self, sql, &parameters)?.ok_or_else(|| Fault::NoRow.into())
    }

    /// As [`Connection::query_one`]; `None` if there is no row.
    ///
    /// # Errors
    /// That there are several, or that they are not of this type; those of the statement.
    pub fn query_optional<T: FromRow>(&self, sql: &str, parameters: impl Parameters) -> Result<Option<T>> {
        execute::query_text_optional(self, sql, &parameters)
    }

    /// Runs the statements of a script, SET TERM and all, in one transaction unless the script has COMMITs of its own.
    ///
    /// ```
    /// # fn main() -> farbird::Result<()> {
    /// # let connection = farbird::Database::in_memory()?.connect()?;
    /// connection.execute_script("
    ///     create table t (a int);
    ///     set term ^;
    ///     create procedure p as begin insert into t values (1); end^
    ///     set term ;^
    ///     execute procedure p;
    /// ")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of the first statement that fails, with its line ([`Error::script_line`]); what was done since the last
    /// COMMIT is undone.
    pub fn execute_script(&self, script: &str) -> Result<()> {
        let mut run = Script::new(self);
        for statement in farbird_sql::split_script(script) {
            run.execute(statement.text).map_err(|error| Fault::Script { line: statement.line, error })?;
        }
        run.commit()
    }

    /// Has texts be of this SQL dialect from now on. They are of dialect 3 unless this is called, whatever the database's own dialect is;
    /// statements that are prepared already stay what they are.
    ///
    /// ```
    /// # fn main() -> farbird::Result<()> {
    /// use farbird::Dialect;
    ///
    /// let db = farbird::Database::options().dialect(Dialect::One).in_memory()?;
    /// let connection = db.connect()?;
    /// connection.set_dialect(Dialect::One);
    /// let (text, number): (String, f64) = connection.query_one("select \"text\", 7 / 2 from rdb$database", ())?;
    /// assert_eq!((text.as_str(), number), ("text", 3.5));
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_dialect(&self, dialect: Dialect) {
        *self.shared.dialect.lock() = dialect;
    }

    /// What it has done with the rows of tables so far, by RDB$RELATION_ID.
    ///
    /// # Errors
    /// That it is closed.
    pub fn table_counts(&self) -> Result<BTreeMap<u32, TableCounts>> {
        self.shared.with(|attachment| Ok(table_counts::of(attachment)))
    }

    /// What stops this connection's running statement from another thread.
    pub fn canceller(&self) -> Canceller {
        Canceller { interrupt: Arc::clone(&self.shared.interrupt) }
    }

    /// Ends the session. Statements prepared on it fail from here.
    ///
    /// # Errors
    /// Of closing the file, if nobody else had it open, and what an ON DISCONNECT trigger raises; the session has
    /// ended all the same.
    pub fn close(self) -> Result<()> {
        let attachment = self.shared.attachment.lock().take();
        match attachment {
            Some(attachment) => Ok(attachment.detach()?),
            None => Ok(()),
        }
    }
}

impl Connection {
    /// Ends the session and deletes the database: for whoever works alone with it.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("app.fbd");
    /// let connection = farbird::Database::create(&path)?.connect()?;
    /// connection.drop_database().map_err(|(_, error)| error)?;
    /// assert!(!path.exists());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `isc_no_priv` for a user who may not, `isc_obj_in_use` if others are connected or another [`Database`](crate::Database) of this file
    /// is there; the session goes on and is handed back.
    pub fn drop_database(self) -> std::result::Result<(), (Connection, Error)> {
        let Some(attachment) = self.shared.attachment.lock().take() else {
            return Err((self, Fault::Closed.into()));
        };
        match attachment.drop_database() {
            Ok(()) => Ok(()),
            Err((attachment, error)) => {
                *self.shared.attachment.lock() = Some(*attachment);
                Err((self, error.into()))
            }
        }
    }
}

impl Executor for Connection {}

impl execute::sealed::InScope for Connection {
    fn scope(&self) -> Scope<'_> {
        Scope { shared: &self.shared, transaction: None }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// Stops a connection's running statement from another thread; got from [`Connection::canceller`].
///
/// The statement is undone whole and fails with an error of which [`Error::is_cancelled`] is true; its transaction goes
/// on. If nothing is running, the next call is stopped: a cancel is never lost between two statements.
///
/// ```
/// # fn main() -> farbird::Result<()> {
/// use std::time::Duration;
///
/// let connection = farbird::Database::in_memory()?.connect()?;
/// let canceller = connection.canceller();
/// let timer = std::thread::spawn(move || {
///     std::thread::sleep(Duration::from_millis(20));
///     canceller.cancel();
/// });
/// let endless = "execute block as begin while (true) do begin end end";
/// assert!(connection.execute(endless, ()).unwrap_err().is_cancelled());
/// # timer.join().unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Canceller {
    interrupt: Arc<Interrupt>,
}

impl Canceller {
    /// Stops what is running.
    pub fn cancel(&self) {
        self.interrupt.raise(StopReason::Cancelled);
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller").finish_non_exhaustive()
    }
}

/// Whether a statement ends or begins the transaction it runs in.
pub(super) fn controls_transactions(kind: StatementKind) -> bool {
    matches!(kind, StatementKind::StartTransaction | StatementKind::Commit | StatementKind::Rollback)
}
