//! Statements one after another, as a script or a conversation has them: COMMIT, ROLLBACK and SET TRANSACTION are
//! statements among others.

use std::fmt;
use std::sync::Arc;

use farbird_engine::api::{ExecuteOptions, Execution, StatementKind, TransactionHandle};

use super::connection::{Connection, controls_transactions};
use super::error::Result;
use super::execute::{self, Executor, Scope};
use super::parameters::Parameters;
use super::prepared::Prepared;
use super::rows::Rows;

/// The savepoint before a definition that is committed at once; no statement can name it.
const DEFINITION: &str = "";

/// Runs statements one after another, in one transaction after another: what a shell does.
///
/// A transaction begins with the first statement that needs one and lasts until COMMIT or ROLLBACK. Dropped, the last one
/// is rolled back.
///
/// A failed write of the file ends the transaction; that call says so, and the next statement begins a new one.
///
/// ```
/// # fn main() -> farbird::Result<()> {
/// use farbird::Script;
///
/// # let connection = farbird::Database::in_memory()?.connect()?;
/// let mut script = Script::new(&connection);
/// script.execute("create table t (a int)")?;
/// script.execute("commit")?;
/// script.execute("insert into t values (1)")?;
/// assert_eq!(script.query("select a from t", ())?.count(), 1);
/// script.execute("rollback")?;
/// assert_eq!(script.query("select a from t", ())?.count(), 0);
/// # Ok(())
/// # }
/// ```
pub struct Script<'c> {
    connection: &'c Connection,
    transaction: Option<TransactionHandle>,
    commit_definitions: bool,
}

impl<'c> Script<'c> {
    /// Nothing has run yet.
    pub fn new(connection: &'c Connection) -> Script<'c> {
        Script { connection, transaction: None, commit_definitions: false }
    }

    /// Whether CREATE, ALTER, DROP and the like commit at once, with what was done before them: isql's AUTODDL. They do
    /// not unless this says so.
    pub fn commit_definitions(&mut self, at_once: bool) {
        self.commit_definitions = at_once;
    }

    /// Runs a statement; the rows of a query are read and forgotten.
    ///
    /// # Errors
    /// Those of the statement, which is then undone whole. The transaction goes on, unless a write of the file failed.
    pub fn execute(&mut self, sql: &str) -> Result<()> {
        self.query(sql, ())?.try_for_each(|row| row.map(drop))
    }

    /// Runs a statement. What is no query gives no rows, and no columns.
    ///
    /// # Errors
    /// As [`Script::execute`]; those of computing rows come with the rows.
    pub fn query(&mut self, sql: &str, parameters: impl Parameters) -> Result<Rows<'_>> {
        let result = self.run(sql, &parameters);
        self.leave_if_lost(result)
    }

    fn run(&mut self, sql: &str, parameters: &dyn Parameters) -> Result<Rows<'c>> {
        let transaction = self.transaction()?;
        let shared = self.connection.shared();
        let mut prepared = Prepared::any(Arc::clone(shared), sql, Some(transaction), false)?;
        let kind = prepared.description.kind;
        if controls_transactions(kind) {
            self.control(&prepared, transaction)?;
            return Ok(Rows::none(shared, prepared, transaction));
        }
        if kind == StatementKind::Ddl && self.commit_definitions {
            self.define(&mut prepared, transaction, parameters)?;
            return Ok(Rows::none(shared, prepared, transaction));
        }
        execute::query_owned(&self.scope(), prepared, parameters)
    }

    /// Runs a definition and commits. If either fails it is as if the definition had not been written: what was done before
    /// it stays to be committed or rolled back.
    fn define(
        &mut self,
        prepared: &mut Prepared,
        transaction: TransactionHandle,
        parameters: &dyn Parameters,
    ) -> Result<()> {
        let shared = self.connection.shared();
        shared.with(|attachment| Ok(attachment.set_savepoint(transaction, DEFINITION)?))?;
        let result = execute::execute_prepared(self, prepared, parameters).and_then(|_| self.commit());
        if result.is_err() {
            shared.with_if_open(|attachment| {
                if attachment.has_transaction(transaction) && !attachment.is_transaction_lost(transaction) {
                    let undone = attachment.rollback_to_savepoint(transaction, DEFINITION);
                    if let Err(error) =
                        undone.and_then(|()| attachment.release_savepoint(transaction, DEFINITION, true))
                    {
                        tracing::debug!(%error, "undoing a definition that was not committed failed");
                    }
                }
            });
        }
        result
    }

    fn scope(&self) -> Scope<'c> {
        Scope { shared: self.connection.shared(), transaction: self.transaction }
    }

    /// Makes permanent what was done since the last COMMIT.
    ///
    /// # Errors
    /// Of writing.
    pub fn commit(&mut self) -> Result<()> {
        let Some(transaction) = self.transaction else { return Ok(()) };
        let result = self.connection.shared().with(|attachment| Ok(attachment.commit(transaction)?));
        self.leave_if_lost(result)?;
        self.transaction = None;
        Ok(())
    }

    /// Undoes what was done since the last COMMIT.
    ///
    /// # Errors
    /// Of reading and writing.
    pub fn rollback(&mut self) -> Result<()> {
        let Some(transaction) = self.transaction.take() else { return Ok(()) };
        self.connection.shared().with(|attachment| match attachment.has_transaction(transaction) {
            true => Ok(attachment.rollback(transaction)?),
            // A failed write has undone it.
            false => Ok(()),
        })
    }

    /// Whether a transaction is open: a statement has begun one and nothing has ended it.
    pub fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// The transaction that goes on, or a new one.
    fn transaction(&mut self) -> Result<TransactionHandle> {
        let shared = self.connection.shared();
        match self.transaction {
            Some(transaction) => Ok(transaction),
            None => {
                let begun =
                    shared.with(|attachment| Ok(attachment.start_transaction(Default::default())?))?;
                Ok(*self.transaction.insert(begun))
            }
        }
    }

    /// Forgets the transaction behind an error if a failed write has taken it away. Only then: as long as nobody was told,
    /// the next statement, and above all COMMIT, has to fail.
    fn leave_if_lost<T>(&mut self, result: Result<T>) -> Result<T> {
        if let (Err(_), Some(transaction)) = (&result, self.transaction) {
            self.connection.shared().with_if_open(|attachment| {
                if !attachment.is_transaction_lost(transaction) {
                    return;
                }
                if attachment.has_transaction(transaction)
                    && let Err(error) = attachment.rollback(transaction)
                {
                    tracing::debug!(%error, "rollback of a lost transaction failed");
                }
                self.transaction = None;
            });
        }
        result
    }

    /// COMMIT, ROLLBACK, SET TRANSACTION.
    fn control(&mut self, prepared: &Prepared, transaction: TransactionHandle) -> Result<()> {
        let execution = self.connection.shared().with(|attachment| {
            let options = ExecuteOptions::default();
            Ok(attachment.execute(prepared.handle, Some(transaction), Vec::new(), options)?)
        })?;
        match execution {
            Execution::TransactionEnded => self.transaction = None,
            Execution::TransactionStarted(started) => {
                self.rollback()?;
                self.transaction = Some(started);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Executor for Script<'_> {}

impl execute::sealed::InScope for Script<'_> {
    fn scope(&self) -> Scope<'_> {
        Script::scope(self)
    }
}

impl Drop for Script<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.rollback() {
            tracing::warn!(%error, "rollback at the end of a script failed");
        }
    }
}

impl fmt::Debug for Script<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::path::Path;

    use farbird_engine::StoreOptions;
    use farbird_engine::api::CreateDatabaseOptions;
    use farbird_engine::users::NoUsers;
    use farbird_sim::{Call, Fault, SimulatedDisk};
    use farbird_store::Store;
    use farbird_store::log::LoggedSubstrate;
    use farbird_types::{CharacterSet, isc};

    use super::*;
    use crate::embedded::database::Opened;
    use crate::embedded::options::engine;
    use crate::{Database, Error};

    /// A database on a disk that fails when told to.
    fn on_disk(disk: &SimulatedDisk, name: &str) -> Database {
        let options =
            StoreOptions { background_sweep: false, write_set_bytes_max: 4_000, ..StoreOptions::default() };
        let substrate = LoggedSubstrate::on_backend(disk.clone(), 1 << 20, 24 << 10).unwrap();
        let store = Store::on_substrate(Arc::new(substrate), options).unwrap();
        let create = CreateDatabaseOptions {
            default_character_set: CharacterSet::UTF8,
            page_size: 8192,
            overwrite: false,
            dialect: 3,
        };
        let hold = engine().hold_store(Path::new(name), store, &create, "SYSDBA", Arc::new(NoUsers)).unwrap();
        Database::new(Opened { hold, user: "SYSDBA".to_owned(), role: None, database_triggers: true })
    }

    fn fail(disk: &SimulatedDisk, error: ErrorKind) {
        let calls = vec![Call::Write, Call::Sync, Call::Resize];
        disk.set_fault(Some(Fault { from_call: disk.calls() + 1, once: false, calls, error }));
    }

    const MANY_ROWS: &str = "execute block as declare i int = 0; begin
        while (i < 4000) do begin insert into t values (100, rpad('', 2000, uuid_to_char(gen_uuid()))); i = i + 1; end
    end";
    const COUNT: &str = "select count(*) from t";

    fn count(script: &mut Script<'_>) -> i64 {
        script.query(COUNT, ()).unwrap().next().unwrap().unwrap().get(0).unwrap()
    }

    /// A script on a table with one row, and the statement of it that meets the broken disk.
    fn goes_on_behind(name: &str, error: ErrorKind, before: &[&str], failing: &str) -> Error {
        let disk = SimulatedDisk::default();
        let connection = on_disk(&disk, name).connect().unwrap();
        let mut script = Script::new(&connection);
        for sql in
            ["create table t (a int, b varchar(2000))", "commit", "insert into t (a) values (1)", "commit"]
        {
            script.execute(sql).unwrap();
        }
        for sql in before {
            script.execute(sql).unwrap();
        }
        fail(&disk, error);
        let failure = script.execute(failing).unwrap_err();
        assert_eq!(failure.gds_code(), isc::IO_ERROR, "{failure}");
        assert!(failure.message().contains(&format!("\"{name}\"")), "{failure}");
        // Reading goes on, in a new transaction, and there is nothing to be committed.
        assert_eq!(count(&mut script), 1);
        script.execute("commit").unwrap();
        disk.set_fault(None);
        // The store tries again after a while.
        while script.execute("insert into t (a) values (2)").and_then(|()| script.execute("commit")).is_err()
        {
        }
        assert_eq!(count(&mut script), 2);
        failure
    }

    #[test]
    fn a_definition_that_cannot_be_committed_leaves_what_was_done_before_it() {
        let connection = Database::in_memory().unwrap().connect().unwrap();
        let mut script = Script::new(&connection);
        script.commit_definitions(true);
        script.execute("create table t (a int, b varchar(2000))").unwrap();
        script.execute("insert into t (a) values (1)").unwrap();
        // There are no users without a server: it is the COMMIT that says so.
        script.execute("create user someone password 'secret'").unwrap_err();
        assert!(script.is_in_transaction());
        assert_eq!(count(&mut script), 1);
        script.execute("commit").unwrap();
        script.execute("rollback").unwrap();
        assert_eq!(count(&mut script), 1);
        script.execute("create table u (a int)").unwrap();
        assert!(!script.is_in_transaction());
    }

    #[test]
    fn a_script_goes_on_behind_a_commit_that_failed() {
        for (name, error) in [(":full", ErrorKind::StorageFull), (":broken", ErrorKind::BrokenPipe)] {
            goes_on_behind(name, error, &["insert into t (a) values (2)"], "commit");
        }
    }

    #[test]
    fn a_script_goes_on_behind_a_statement_whose_rows_found_no_room() {
        let failure =
            goes_on_behind(":spill", ErrorKind::StorageFull, &["insert into t (a) values (2)"], MANY_ROWS);
        // The first error is told, not that of undoing the statement.
        assert!(failure.message().contains("No space left on device"), "{failure}");
    }

    #[test]
    fn work_that_anothers_failed_write_took_away_is_not_committed_in_silence() {
        let disk = SimulatedDisk::default();
        let database = on_disk(&disk, ":another");
        let (connection, other) = (database.connect().unwrap(), database.connect().unwrap());
        let mut script = Script::new(&connection);
        for sql in ["create table t (a int, b varchar(2000))", "commit", "insert into t (a) values (1)"] {
            script.execute(sql).unwrap();
        }
        fail(&disk, ErrorKind::BrokenPipe);
        other.execute("insert into t (a) values (2)", ()).unwrap_err();
        disk.set_fault(None);
        assert_eq!(script.execute("commit").unwrap_err().gds_code(), isc::IO_ERROR);
        script.execute("commit").unwrap();
        assert_eq!(count(&mut script), 0);
    }
}
