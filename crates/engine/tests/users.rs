//! Changes of users belong to their transaction: they are made when it commits, come to last after its rows, and go with it.

use std::sync::Arc;

use farbird_engine::api::{
    AttachOptions, ClientDescription, CreateDatabaseOptions, ExecuteOptions, TransactionHandle,
    TransactionParameters,
};
use farbird_engine::attachment::Attachment;
use farbird_engine::engine::Engine;
use farbird_engine::users::{PreparedUsers, UserChange, UserDirectory, UserRecord};
use farbird_types::{CharacterSet, Error, Result, isc};
use parking_lot::Mutex;

/// A directory that notes what it is told, and refuses to drop anybody.
#[derive(Default)]
struct Diary {
    lines: Mutex<Vec<String>>,
}

struct Prepared<'d> {
    diary: &'d Diary,
    is_committed: bool,
}

impl UserDirectory for Diary {
    fn list(&self) -> Result<Vec<UserRecord>> {
        Ok(Vec::new())
    }

    fn prepare(&self, changes: &[UserChange]) -> Result<Box<dyn PreparedUsers + '_>> {
        if changes.iter().any(|change| matches!(change, UserChange::Drop(_))) {
            return Err(Error::new(isc::GSEC_ERR_REC_NOT_FOUND));
        }
        self.lines.lock().push(format!("prepare {}", changes.len()));
        Ok(Box::new(Prepared { diary: self, is_committed: false }))
    }
}

impl PreparedUsers for Prepared<'_> {
    fn commit(mut self: Box<Self>) -> Result<()> {
        self.is_committed = true;
        self.diary.lines.lock().push("commit".to_owned());
        Ok(())
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if !self.is_committed {
            self.diary.lines.lock().push("rollback".to_owned());
        }
    }
}

struct World {
    diary: Arc<Diary>,
    attachment: Attachment,
    _folder: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let diary = Arc::new(Diary::default());
        let create = CreateDatabaseOptions {
            default_character_set: CharacterSet::UTF8,
            page_size: 8192,
            overwrite: false,
            dialect: 3,
        };
        let options = AttachOptions {
            user: "SYSDBA".to_owned(),
            role: None,
            character_set: CharacterSet::UTF8,
            dialect: 3,
            time_zone: None,
            no_database_triggers: false,
            client: ClientDescription::default(),
        };
        let engine = Engine::new(Default::default());
        let users: Arc<dyn UserDirectory> = diary.clone();
        let path = folder.path().join("users.fbd");
        let attachment = engine.create_database(&path, &create, options, users).unwrap();
        World { diary, attachment, _folder: folder }
    }

    fn begin(&mut self) -> TransactionHandle {
        self.attachment.start_transaction(TransactionParameters::default()).unwrap()
    }

    fn run(&mut self, transaction: TransactionHandle, sql: &str) -> Result<()> {
        let statement = self.attachment.allocate_statement()?;
        self.attachment.prepare(statement, Some(transaction), sql, 3)?;
        let done =
            self.attachment.execute(statement, Some(transaction), Vec::new(), ExecuteOptions::default());
        self.attachment.drop_statement(statement)?;
        done.map(|_| ())
    }

    /// What the directory was told since the last look.
    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.diary.lines.lock())
    }
}

#[test]
fn a_commit_makes_them_and_a_rollback_does_not() {
    let mut world = World::new();
    let transaction = world.begin();
    world.run(transaction, "create user ann password 'x'").unwrap();
    world.run(transaction, "alter user ann firstname 'Ann'").unwrap();
    assert!(world.told().is_empty(), "nothing is done before the commit");
    world.attachment.commit_retaining(transaction).unwrap();
    assert_eq!(world.told(), ["prepare 2", "commit"]);
    world.attachment.commit_retaining(transaction).unwrap();
    assert!(world.told().is_empty(), "what was done is not done again");
    world.run(transaction, "create user bob password 'x'").unwrap();
    world.attachment.rollback(transaction).unwrap();
    assert!(world.told().is_empty());
}

#[test]
fn savepoints_and_failing_statements_take_theirs_back() {
    let mut world = World::new();
    let transaction = world.begin();
    world.run(transaction, "create user ann password 'x'").unwrap();
    world.run(transaction, "savepoint s").unwrap();
    world.run(transaction, "create user bob password 'x'").unwrap();
    world.run(transaction, "rollback to savepoint s").unwrap();
    let failing = "execute block as declare x int; begin
        execute statement 'create user eve password ''x'''; x = 1 / 0; end";
    world.run(transaction, failing).unwrap_err();
    world.attachment.commit(transaction).unwrap();
    assert_eq!(world.told(), ["prepare 1", "commit"]);
}

#[test]
fn a_statement_that_says_nothing_of_a_user_is_refused() {
    let mut world = World::new();
    let transaction = world.begin();
    for (sql, heading) in [
        ("alter user ann", isc::DSQL_ALTER_USER_FAILED),
        ("create or alter user ann", isc::DSQL_ALTER_USER_FAILED),
        ("alter current user", isc::DSQL_ALTER_USER_FAILED),
    ] {
        let error = world.run(transaction, sql).unwrap_err();
        assert!(error.has(heading) && error.has(isc::DYN_ALTER_USER_NO_CLAUSE), "{sql}: {error}");
    }
    for (sql, heading) in [
        ("create user ann", isc::DSQL_CREATE_USER_FAILED),
        ("recreate user ann", isc::DSQL_RECREATE_USER_FAILED),
    ] {
        let error = world.run(transaction, sql).unwrap_err();
        assert!(error.has(heading), "{sql}: {error}");
    }
    world.attachment.commit(transaction).unwrap();
    assert!(world.told().is_empty());
}

#[test]
fn a_commit_that_fails_changes_nobody() {
    let mut world = World::new();
    let transaction = world.begin();
    world.run(transaction, "create table t (a int)").unwrap();
    world.run(transaction, "drop user ann").unwrap();
    let error = world.attachment.commit(transaction).unwrap_err();
    assert!(error.has(isc::GSEC_ERR_REC_NOT_FOUND), "{error}");
    world.attachment.rollback(transaction).unwrap();
    let transaction = world.begin();
    world.run(transaction, "select * from t").unwrap_err();

    // Nor does a trigger that refuses the commit.
    world.run(transaction, "create exception e 'no'").unwrap();
    world.attachment.commit_retaining(transaction).unwrap();
    world.run(transaction, "create trigger c on transaction commit as begin exception e; end").unwrap();
    world.attachment.commit(transaction).unwrap();
    let transaction = world.begin();
    world.run(transaction, "create user bob password 'x'").unwrap();
    world.attachment.commit(transaction).unwrap_err();
    assert!(world.told().is_empty());
    world.attachment.rollback(transaction).unwrap();
}

#[test]
fn an_autonomous_transaction_makes_its_own() {
    let mut world = World::new();
    let transaction = world.begin();
    let block = "execute block as begin
        execute statement 'create user ann password ''x''' with autonomous transaction; end";
    world.run(transaction, block).unwrap();
    assert_eq!(world.told(), ["prepare 1", "commit"]);
    world.attachment.rollback(transaction).unwrap();
}
