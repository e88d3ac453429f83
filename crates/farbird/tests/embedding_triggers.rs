//! Triggers of the database: when they fire, and what their exceptions do.

use farbird::{Connection, Database};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A database whose triggers keep a diary, and a connection that fires none of them.
fn diary() -> Result<(tempfile::TempDir, Database, Connection), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("diary.fbd");
    let quiet = Database::options().database_triggers(false).create(&path)?.connect()?;
    quiet.execute_script(
        "create table diary (id int generated always as identity, line varchar(40));
         create exception refused 'refused';
         set term ^;
         create trigger c on connect as begin insert into diary (line) values ('connect ' || current_user); end^
         create trigger d on disconnect as begin insert into diary (line) values ('disconnect'); end^
         create trigger s on transaction start as begin insert into diary (line) values ('start'); end^
         create trigger e on transaction commit as begin insert into diary (line) values ('commit'); end^
         create trigger r on transaction rollback as
         begin
           in autonomous transaction do insert into diary (line) values ('rollback');
         end^
         set term ;^",
    )?;
    let db = Database::open(&path)?;
    Ok((folder, db, quiet))
}

/// What was written since the last look.
fn written(quiet: &Connection) -> farbird::Result<Vec<String>> {
    let lines = quiet
        .query("select line from diary order by id", ())?
        .map(|row| row?.get(0))
        .collect::<farbird::Result<Vec<String>>>()?;
    quiet.execute("delete from diary", ())?;
    Ok(lines)
}

#[test]
fn triggers_fire_at_the_ends_of_sessions_and_transactions() -> Outcome {
    let (_folder, db, quiet) = diary()?;
    assert!(written(&quiet)?.is_empty(), "the connection that fires none has fired some");
    let connection = db.connect()?;
    assert_eq!(written(&quiet)?, ["connect SYSDBA"]);
    connection.transaction()?.commit()?;
    assert_eq!(written(&quiet)?, ["start", "commit"]);
    // What START wrote goes with the transaction.
    drop(connection.transaction()?);
    assert_eq!(written(&quiet)?.iter().filter(|line| *line == "rollback").count(), 1);
    drop(connection);
    assert_eq!(written(&quiet)?, ["disconnect"]);
    Ok(())
}

#[test]
fn an_exception_on_connect_refuses_the_connection() -> Outcome {
    let (_folder, db, quiet) = diary()?;
    quiet.execute(
        "create or alter trigger c on connect as
         begin
           insert into diary (line) values ('undone');
           if (current_user = 'GUEST') then exception refused;
         end",
        (),
    )?;
    db.connect()?;
    assert_eq!(written(&quiet)?, ["undone", "disconnect"]);
    let guest = Database::options().user("GUEST").open(db.path())?;
    let error = guest.connect().unwrap_err();
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(written(&quiet)?.is_empty(), "who was not connected does not disconnect");
    // Only administrators may pass by the triggers.
    let sly = Database::options().user("GUEST").database_triggers(false).open(db.path())?;
    assert_eq!(sly.connect().unwrap_err().sql_state(), "28000");
    Ok(())
}

#[test]
fn an_exception_at_start_or_commit_is_the_callers() -> Outcome {
    let (_folder, db, quiet) = diary()?;
    let connection = db.connect()?;
    let transaction = connection.transaction()?;
    transaction.execute("insert into diary (line) values ('kept')", ())?;
    quiet.execute(
        "create or alter trigger e on transaction commit as
         begin
           insert into diary (line) values ('undone');
           if (exists (select * from diary where line = 'kept')) then exception refused;
         end",
        (),
    )?;
    written(&quiet)?;
    // COMMIT fails and the transaction goes on: its owner takes back what is wrong.
    assert!(transaction.commit_retaining().is_err());
    transaction.execute("delete from diary where line = 'kept'", ())?;
    transaction.commit()?;
    assert_eq!(written(&quiet)?, ["start", "undone"]);

    quiet.execute("create or alter trigger s on transaction start as begin exception refused; end", ())?;
    assert!(connection.transaction().is_err());
    assert!(connection.execute("insert into diary (line) values ('never')", ()).is_err());
    quiet.execute("alter trigger s inactive", ())?;
    connection.execute("insert into diary (line) values ('again')", ())?;
    Ok(())
}
