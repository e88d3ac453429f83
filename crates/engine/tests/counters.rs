//! What MON$RECORD_STATS and MON$TABLE_STATS count: as Firebird 3.0.11, 4.0.5 and 5.0.4 count the same statements, but where plans differ.

mod ddl_support;

use std::collections::BTreeMap;

use ddl_support::{Session, TestDatabase};

/// Counters that are compared, in the order of `counts`.
const COLUMNS: &str = "r.mon$record_seq_reads || ' ' || r.mon$record_idx_reads || ' ' || r.mon$record_inserts || ' ' || \
    r.mon$record_updates || ' ' || r.mon$record_deletes || ' ' || r.mon$record_backouts || ' ' || r.mon$record_locks";

/// Natural, indexed, inserted, updated, deleted, backed out, locked.
type Counts = [i64; 7];

fn parse(text: &str) -> Counts {
    let counts: Vec<i64> = text.split(' ').map(|count| count.parse().expect("a number")).collect();
    counts.try_into().expect("as many as there are columns")
}

/// The tables of an attachment with what was counted, of those that a test has made.
fn counts(observer: &mut Session, attachment: u64) -> BTreeMap<String, Counts> {
    let sql = format!(
        "select trim(t.mon$table_name) || '|' || {COLUMNS} from mon$attachments a \
         join mon$table_stats t on t.mon$stat_id = a.mon$stat_id and t.mon$stat_group = 1 \
         join mon$record_stats r on r.mon$stat_id = t.mon$record_stat_id \
         where a.mon$attachment_id = {attachment} and t.mon$table_name not starting with 'RDB$'"
    );
    let rows = observer.rows(&sql);
    observer.commit();
    let split = rows.iter().map(|row| row.split_once('|').expect("a table and its counts"));
    split.map(|(table, counts)| (table.to_owned(), parse(counts))).collect()
}

struct Shop {
    database: TestDatabase,
    session: Session,
    observer: Session,
}

impl Shop {
    fn new() -> Shop {
        let (database, mut session) = TestDatabase::create();
        for sql in [
            "create table t (id int not null primary key, a int, b varchar(20))",
            "create table u (id int not null primary key, tid int, x int)",
            "create table log (id int, what varchar(20))",
            "create table trg (id int not null primary key, a int)",
            "create table p (id int not null primary key)",
            "create table ch (id int not null primary key, pid int references p)",
            "create global temporary table g (id int) on commit preserve rows",
        ] {
            session.execute(sql);
            session.commit();
        }
        for sql in [
            "create index u_tid on u (tid)",
            "create trigger trg_ai for trg after insert as begin insert into log values (new.id, 'ins'); end",
            "create procedure pr returns (n int) as declare i int; begin n = 0; \
             for select a from t into :i do n = n + 1; suspend; end",
            "create procedure prk returns (n int) as declare i int = 1; declare v int; begin n = 0; \
             while (i <= 50) do begin select a from t where id = :i into :v; n = n + v; i = i + 1; end suspend; end",
        ] {
            session.execute(sql);
            session.commit();
        }
        session.execute(
            "execute block as declare i int = 1; begin \
             while (i <= 1000) do begin insert into t values (:i, mod(:i, 10), 'x' || :i); i = i + 1; end i = 1; \
             while (i <= 300) do begin insert into u values (:i, mod(:i, 100) + 1, :i); i = i + 1; end i = 1; \
             while (i <= 20) do begin insert into p values (:i); i = i + 1; end \
             insert into ch values (1, 1); end",
        );
        session.commit();
        let observer = database.attach("SYSDBA", None);
        Shop { database, session, observer }
    }

    fn counts(&mut self) -> BTreeMap<String, Counts> {
        let id = self.session.attachment().session().id;
        counts(&mut self.observer, id)
    }

    /// What statements, and the end of their transaction, add to the counters of tables.
    fn added(&mut self, run: impl FnOnce(&mut Session)) -> BTreeMap<String, Counts> {
        let before = self.counts();
        run(&mut self.session);
        let mut after = self.counts();
        for (table, counts) in &before {
            if let Some(later) = after.get_mut(table) {
                later.iter_mut().zip(counts).for_each(|(later, before)| *later -= before);
            }
        }
        after.retain(|_, counts| counts.iter().any(|count| *count != 0));
        after
    }

    #[track_caller]
    fn check(&mut self, sql: &str, expected: &[(&str, Counts)]) {
        let added = self.added(|session| {
            session.rows(sql);
            session.commit();
        });
        let expected: BTreeMap<String, Counts> =
            expected.iter().map(|(table, counts)| ((*table).to_owned(), *counts)).collect();
        assert_eq!(added, expected, "{sql}");
    }

    #[track_caller]
    fn check_failing(&mut self, sql: &str, expected: &[(&str, Counts)]) {
        let added = self.added(|session| {
            session.error(sql);
            session.rollback();
        });
        let expected: BTreeMap<String, Counts> =
            expected.iter().map(|(table, counts)| ((*table).to_owned(), *counts)).collect();
        assert_eq!(added, expected, "{sql}");
    }
}

#[test]
fn reads_are_counted_by_table_and_by_the_way_they_are_found() {
    let mut shop = Shop::new();
    let natural = [("T", [1_000, 0, 0, 0, 0, 0, 0])];
    shop.check("select sum(a) from t", &natural);
    shop.check("select count(*) from t", &natural);
    shop.check("select id from t where a = 3 and b = 'x13'", &natural);
    shop.check("select a, count(*) from t group by a", &natural);
    shop.check("select * from t where id = 77", &[("T", [0, 1, 0, 0, 0, 0, 0])]);
    shop.check("select * from t where id = 77777", &[]);
    shop.check("select * from t where id between 100 and 119", &[("T", [0, 20, 0, 0, 0, 0, 0])]);
    shop.check("select * from t where id in (1, 2, 3)", &[("T", [0, 3, 0, 0, 0, 0, 0])]);
    shop.check(
        "select count(*) from u join t on t.id = u.tid where u.id <= 10",
        &[("T", [0, 10, 0, 0, 0, 0, 0]), ("U", [0, 10, 0, 0, 0, 0, 0])],
    );
    shop.check(
        "select count(*) from t join u on u.x + 0 = t.a + 0",
        &[("T", [1_000, 0, 0, 0, 0, 0, 0]), ("U", [300, 0, 0, 0, 0, 0, 0])],
    );
    shop.check("select min(id) from t", &[("T", [0, 1, 0, 0, 0, 0, 0])]);
    shop.check("select * from t where id <= 3 with lock", &[("T", [0, 3, 0, 0, 0, 0, 3])]);
}

#[test]
fn changes_are_counted_with_what_they_read() {
    let mut shop = Shop::new();
    shop.check("update t set a = a + 1 where id = 5", &[("T", [0, 1, 0, 1, 0, 0, 0])]);
    shop.check("update t set b = 'y' where a = 3", &[("T", [1_000, 0, 0, 100, 0, 0, 0])]);
    shop.check("insert into t values (2001, 1, 'a')", &[("T", [0, 0, 1, 0, 0, 0, 0])]);
    shop.check(
        "insert into log select id, b from t where id <= 10",
        &[("LOG", [0, 0, 10, 0, 0, 0, 0]), ("T", [0, 10, 0, 0, 0, 0, 0])],
    );
    shop.check("delete from t where id = 6", &[("T", [0, 1, 0, 0, 1, 0, 0])]);
    shop.check("delete from log", &[("LOG", [10, 0, 0, 0, 10, 0, 0])]);
    shop.check(
        "insert into ch values (100, 2)",
        &[("CH", [0, 0, 1, 0, 0, 0, 0]), ("P", [0, 1, 0, 0, 0, 0, 0])],
    );
    shop.check("update or insert into t values (7, 7, 'z')", &[("T", [0, 1, 0, 1, 0, 0, 0])]);
    // Rows of a temporary table are counted as the table's, whichever session keeps them.
    shop.check("insert into g values (1)", &[("G", [0, 0, 1, 0, 0, 0, 0])]);
    shop.check("delete from g", &[("G", [1, 0, 0, 0, 1, 0, 0])]);
}

#[test]
fn routines_and_triggers_count_for_their_statement() {
    let mut shop = Shop::new();
    shop.check("select * from pr", &[("T", [1_000, 0, 0, 0, 0, 0, 0])]);
    shop.check("select * from prk", &[("T", [0, 50, 0, 0, 0, 0, 0])]);
    shop.check(
        "insert into trg values (1, 1)",
        &[("LOG", [0, 0, 1, 0, 0, 0, 0]), ("TRG", [0, 0, 1, 0, 0, 0, 0])],
    );
    shop.check(
        "execute block as begin in autonomous transaction do insert into log values (1, 'a'); end",
        &[("LOG", [0, 0, 1, 0, 0, 0, 0])],
    );
}

#[test]
fn what_fails_or_is_rolled_back_was_done_and_taken_back() {
    let mut shop = Shop::new();
    shop.check_failing("insert into t values (1, 1, 'a')", &[("T", [0, 1, 1, 0, 0, 1, 0])]);
    shop.check_failing("insert into ch values (101, 1000)", &[("CH", [0, 0, 1, 0, 0, 1, 0])]);
    shop.check_failing(
        "delete from p where id = 1",
        &[("CH", [0, 1, 0, 0, 0, 0, 0]), ("P", [0, 1, 0, 0, 1, 1, 0])],
    );
    let rolled_back = shop.added(|session| {
        session.execute("update t set a = 1 where id between 1 and 10");
        session.execute("insert into log select id, b from t where id <= 10");
        session.execute("delete from t where id <= 20");
        session.rollback();
    });
    assert_eq!(rolled_back["LOG"], [0, 0, 10, 0, 0, 10, 0]);
    assert_eq!(rolled_back["T"][..5], [0, 40, 0, 10, 20]);
    assert_eq!(rolled_back["T"][5], 20, "each row is taken back once");
    let to_savepoint = shop.added(|session| {
        session.execute("insert into log values (1, 'x')");
        session.execute("savepoint s");
        session.execute("insert into log values (2, 'x')");
        session.execute("rollback to savepoint s");
        session.commit();
    });
    assert_eq!(to_savepoint["LOG"], [0, 0, 2, 0, 0, 1, 0]);
}

/// Natural reads of all tables together, by statistics group.
fn natural(session: &mut Session, from: &str) -> Vec<String> {
    session.rows(&format!(
        "select r.mon$record_seq_reads from {from} s join mon$record_stats r on r.mon$stat_id = s.mon$stat_id"
    ))
}

#[test]
fn databases_attachments_transactions_and_statements_have_their_own_counters() {
    let mut shop = Shop::new();
    let session = &mut shop.session;
    session.start_waiting();
    let statement = session.keep_prepared("select a from t where b > ''").expect("prepares");
    for _ in 0..2 {
        session.run_prepared(statement, 1, Vec::new()).expect("runs");
        session.attachment().close_cursor(statement).expect("closes");
    }
    let own = "(select * from mon$statements where mon$sql_text starting with 'select a from t')";
    assert_eq!(natural(&mut shop.observer, own), ["2000"]);
    let others = "(select t.* from mon$transactions t where t.mon$attachment_id <> current_connection)";
    assert_eq!(natural(&mut shop.observer, others), ["2000"]);
    shop.observer.commit();
    shop.session.forget(statement);
    shop.session.commit();
    assert_eq!(natural(&mut shop.observer, own), Vec::<String>::new());
    let id = shop.session.attachment().session().id;
    let attachment = format!("(select * from mon$attachments where mon$attachment_id = {id})");
    let of_attachment: i64 = natural(&mut shop.observer, &attachment)[0].parse().expect("a number");
    assert!(of_attachment >= 2_000, "{of_attachment}");
    // What attachments did that are gone stays with the database.
    let whole = |observer: &mut Session| -> i64 {
        let count = natural(observer, "mon$database")[0].parse().expect("a number");
        observer.commit();
        count
    };
    let before = whole(&mut shop.observer);
    assert!(before >= of_attachment, "{before}");
    let Shop { database, session, mut observer } = shop;
    drop(session);
    assert!(whole(&mut observer) >= before);
    drop((observer, database));
}

#[test]
fn others_see_their_own_attachments_and_the_database() {
    let mut shop = Shop::new();
    shop.session.execute("grant select on t to user ana");
    shop.session.commit();
    let mut ana = shop.database.attach("ANA", None);
    ana.rows("select sum(a) from t");
    let groups = "select mon$stat_group, count(*) from mon$record_stats r where not exists (select 1 from mon$table_stats t \
                  where t.mon$record_stat_id = r.mon$stat_id) and mon$stat_group < 2 group by 1 order by 1";
    assert_eq!(ana.rows(groups), ["0|1", "1|1"]);
    assert_eq!(shop.observer.rows(groups), ["0|1", "1|3"]);
    let of_ana = "select r.mon$record_seq_reads from mon$table_stats t join mon$record_stats r \
                  on r.mon$stat_id = t.mon$record_stat_id where t.mon$stat_group = 1 and t.mon$table_name = 'T'";
    assert_eq!(ana.rows(of_ana), ["1000"]);
}
