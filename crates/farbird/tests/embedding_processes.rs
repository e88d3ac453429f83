//! One file and several who want it: another process, and a server in the same one.

use std::process::Command;

use farbird::{Database, Value};
use farbird_server::Server;
use farbird_server::config::{Config, Overrides};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[test]
fn another_process_is_told_that_the_file_is_in_use() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("app.fbd");
    let select = || {
        Command::new(env!("CARGO_BIN_EXE_farbird"))
            .args(["sql", "-c", "select count(*) from rdb$database"])
            .arg(&path)
            .output()
    };
    let db = Database::create(&path)?;
    let refused = select()?;
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("another process has the database open"));
    drop(db);
    assert_eq!(select()?.status.code(), Some(0));
    Ok(())
}

#[test]
fn a_program_serves_the_database_that_it_works_with() -> Outcome {
    let folder = tempfile::tempdir()?;
    let db = Database::create(folder.path().join("shared.fbd"))?;
    let connection = db.connect()?;
    connection.execute("create table t (a int)", ())?;
    connection.execute("insert into t values (1)", ())?;

    let overrides = Overrides {
        listen: Some("127.0.0.1:0".parse()?),
        data: Some(folder.path().to_owned()),
        ..Overrides::default()
    };
    let config = Config::load(None, overrides)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let password = Some("masterkey".to_owned());
    let (server, _) = runtime.block_on(Server::start_on(farbird::engine(), config, password))?;

    let port = server.local_address().port();
    let options = farbird_client::ConnectOptions::new("SYSDBA", "masterkey");
    let client =
        farbird_client::blocking::Connection::attach(&format!("127.0.0.1/{port}:shared.fbd"), &options)?;
    let transaction = client.begin(&Default::default())?;
    assert_eq!(client.query_all(&transaction, "select a from t")?, [[Value::integer(1)]]);
    client.run(&transaction, "insert into t values (2)")?;
    client.commit(transaction)?;
    assert_eq!(connection.query_one::<i64>("select sum(a) from t", ())?, 3);
    client.close()?;
    runtime.block_on(server.shutdown());
    // The server has gone, the database has not.
    assert_eq!(connection.execute("insert into t values (3)", ())?, 1);
    Ok(())
}
