//! A file whose indexes were made with other collation data than this program's is made fit before anybody uses it.

mod ddl_support;

use std::path::Path;
use std::sync::Arc;

use ddl_support::TestDatabase;
use farbird_store::{CancelFlag, Store, StoreOptions, TransactionOptions};
use farbird_types::collation::version;

/// Makes the file what another version would have left: entries by UNICODE_CI, where the table now says UNICODE_CI_AI, and
/// the name of other data. So an index that is not made anew gives wrong answers.
fn age(path: &Path) {
    let store = Store::open(path, StoreOptions::default()).expect("a store");
    let transaction =
        store.begin(TransactionOptions::default(), Arc::new(CancelFlag::default())).expect("a transaction");
    for (key, value) in store.catalog_entries().expect("the catalog") {
        let text = String::from_utf8(value).expect("JSON");
        let older = text.replace(version::UNICODE, "older").replace("\"collation\":3", "\"collation\":4");
        if older != text {
            transaction.catalog_put(&key, older.as_bytes()).expect("an entry");
        }
    }
    transaction.commit().expect("a commit");
    store.close().expect("closed");
}

#[test]
fn indexes_are_made_anew_when_collation_data_change() {
    let (database, mut session) = TestDatabase::create();
    for sql in [
        "create table t(id int, s varchar(10) collate unicode_ci, u varchar(10) collate unicode_ci, n int)",
        "create index t_s on t(s)",
        "create unique index t_u on t(u)",
        "create index t_n on t(n)",
        "create index t_e on t computed by (upper(s))",
    ] {
        session.execute(sql);
        session.commit();
    }
    for (id, word) in ["abc", "ábc", "zebra"].iter().enumerate() {
        session.execute(&format!("insert into t values ({id}, '{word}', '{word}', {id})"));
    }
    session.commit();
    let by_index = "select id from t where s = 'ABC' order by id";
    assert_eq!(session.rows(by_index), ["0"]);
    drop(session);

    age(database.path());
    let report = database.check_closed();
    let places: Vec<_> = report.damages.iter().map(|damage| damage.place.as_str()).collect();
    assert_eq!(places, ["index T_S of table T", "index T_U of table T", "index T_E of table T"]);

    let mut session = database.attach("SYSDBA", None);
    assert_eq!(session.rows(by_index), ["0", "1"]);
    // By the new order two values of the unique index are the same: it is not used, and says so.
    let inactive = "select trim(rdb$index_name) from rdb$indices where rdb$index_inactive = 1";
    assert_eq!(session.rows(inactive), ["T_U"]);
    assert_eq!(session.rows("select id from t where u = 'ABC' order by id"), ["0", "1"]);
    session.execute("update t set u = 'other' where id = 1");
    session.commit();
    session.execute("alter index t_u active");
    session.commit();
    let error = session.error("insert into t values (9, 'x', 'ÁBC', 9)");
    assert!(error.contains("no_dup") || error.contains("unique"), "{error}");
    drop(session);
    let report = database.check();
    assert!(report.is_sound(), "{report:?}");
}

/// Makes the file read only.
fn protect(path: &Path) {
    let store = Store::open(path, StoreOptions::default()).expect("a store");
    let transaction =
        store.begin(TransactionOptions::default(), Arc::new(CancelFlag::default())).expect("a transaction");
    for (key, value) in store.catalog_entries().expect("the catalog") {
        let text = String::from_utf8(value).expect("JSON");
        let read_only = text.replace("\"read_only\":false", "\"read_only\":true");
        transaction.catalog_put(&key, read_only.as_bytes()).expect("an entry");
    }
    transaction.commit().expect("a commit");
    store.close().expect("closed");
}

#[test]
fn a_read_only_file_with_older_data_is_refused() {
    let (database, mut session) = TestDatabase::create();
    session.execute("create table t(s varchar(10) collate unicode_ci)");
    session.commit();
    session.execute("create index t_s on t(s)");
    session.commit();
    drop(session);
    age(database.path());
    protect(database.path());
    let error = database.attach_error("SYSDBA");
    assert!(error.contains("read_only_database") && error.contains("T_S"), "{error}");
}
