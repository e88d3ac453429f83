//! Joins that tell a table few keys, by which an index names its rows: asked once so and once with a condition that no index serves,
//! in tables that have been changed, by others and by the transaction itself; by one thread and by several.

mod ddl_support;

use std::sync::Arc;

use ddl_support::{Session, TestDatabase};
use farbird_catalog::statistics::StatisticsSource;
use farbird_engine::budget::{Limits, Resource};
use farbird_store::{ColumnStatistics, RelationId, RelationStatistics};

const ROWS: u64 = 90_000;

/// Says that a table is large, wide and scattered, and all others are small: then reading by keys is worth it.
struct Large(RelationId);

impl StatisticsSource for Large {
    fn relation(&self, relation: RelationId) -> Option<Arc<RelationStatistics>> {
        let (rows, distinct, blocks) =
            if relation == self.0 { (6_000_000, 200_000.0, 60_000) } else { (300, 300.0, 1) };
        let columns = vec![ColumnStatistics { distinct, ..ColumnStatistics::default() }; 5];
        Some(Arc::new(RelationStatistics { rows, blocks, columns, ..RelationStatistics::default() }))
    }
}

fn believe(session: &mut Session) {
    let catalog = session.attachment().database().catalog();
    let large = RelationId(catalog.relations.get("T").expect("the table").id.0);
    catalog.statistics.believe(Some(Arc::new(Large(large))));
}

fn tables(session: &mut Session) {
    session.execute("create table seed (k int)");
    session.execute(
        "create table t (id int not null primary key, a int, n numeric(9, 2), v varchar(40), dt date)",
    );
    session.execute("create table few (k bigint, n numeric(9, 2), dt date)");
    session.execute("create index t_a on t (a)");
    session.execute("create descending index t_n on t (n, id)");
    session.execute("create index t_dt on t (dt)");
    session.commit();
    session.execute(
        "execute block as declare i int = 0; begin
         while (i < 300) do begin insert into seed values (:i); i = i + 1; end end",
    );
    session.execute(&format!(
        "insert into t select first {ROWS} x.k * 300 + y.k, iif(mod(y.k, 17) = 0, null, mod(x.k * 7919 + y.k * 31, 1009)),
           mod(x.k * 31 + y.k * 17, 500) / 4.00, 'a text that tells ' || mod(x.k + y.k, 50),
           dateadd(mod(x.k * 7 + y.k * 13, 700) day to date '2024-01-01') from seed x cross join seed y"
    ));
    // Twice the same, NULL, and what no INTEGER is.
    session.execute(
        "insert into few select mod(k * 37, 1200), k / 4.00, dateadd(k * 9 day to date '2024-01-01') from seed where k < 40",
    );
    session.execute("insert into few select k, n, dt from few where k < 300");
    session.execute("insert into few values (null, null, null)");
    session.execute("insert into few values (5000000000, -7, date '1900-01-01')");
    session.commit();
    believe(session);
}

/// Queries, each with a column of T that an index leads to and that is computed in its place where no index shall be used.
const QUERIES: &[(&str, &str)] = &[
    ("select few.k, t.id, t.v from few, t where {} = few.k", "t.a"),
    ("select few.k, t.id from few, t where {} = few.k and t.v like '%1%' and t.id > few.n", "t.a"),
    ("select count(*), sum(t.id), max(t.v) from few, t where {} = few.n and t.a < 300", "t.n"),
    ("select t.dt, count(*) from few, t where {} = few.dt group by t.dt", "t.dt"),
    ("select k, n from few where exists (select * from t where {} = few.k and t.n > 40)", "t.a"),
    ("select k, n from few where not exists (select * from t where {} = few.k and t.n > 110)", "t.a"),
    ("select few.k, t.id from few left join t on {} = few.k and t.n > 90", "t.a"),
    ("select count(*), sum(1000 / (t.a - 74)) from few, t where {} = few.k and few.k <> 74", "t.a"),
];

/// Asks all queries both ways; gives how many plans read T by keys.
fn ask(session: &mut Session) -> usize {
    let mut keyed = 0;
    for (query, column) in QUERIES {
        let asked = query.replace("{}", column);
        let plan = session.prepare(&asked).expect("a plan").explained_plan.clone();
        let plain = query.replace("{}", &format!("coalesce({column}, {column})"));
        keyed += usize::from(plan.contains("Hash Join") && plan.contains("\"T\" Access By ID"));
        let sorted = |mut rows: Vec<String>| {
            rows.sort();
            rows
        };
        let (found, expected) = (session.rows(&asked), session.rows(&plain));
        assert!(!expected.is_empty(), "{asked}");
        assert_eq!(sorted(found), sorted(expected), "{asked}\n{plan}");
    }
    keyed
}

#[test]
fn rows_under_the_keys_of_a_join_are_those_that_all_rows_have() {
    let (database, mut session) = TestDatabase::create();
    tables(&mut session);
    let keyed = ask(&mut session);
    assert!(keyed >= 5, "{keyed} plans by keys");
    // Entries of rows that are gone, moved, or not yet there for this snapshot.
    let mut other = database.attach("SYSDBA", None);
    other.execute("update t set a = a + 50, n = n + 1, dt = dt + 3 where mod(id, 40) = 1");
    other.execute("delete from t where mod(id, 90) = 2");
    other.execute("insert into t select id + 100000, a, n, v, dt from t where mod(id, 50) = 0");
    other.commit();
    ask(&mut session);
    session.commit();
    session.execute("update t set a = null where mod(id, 70) = 5");
    session.execute("delete from t where mod(id, 80) = 3");
    session.execute("insert into t select id + 200000, a, n, v, dt from t where id < 500");
    ask(&mut session);
}

#[test]
fn several_threads_read_the_rows_under_keys_as_one_does() {
    let (database, mut session) = TestDatabase::create();
    tables(&mut session);
    let engine = database.engine();
    for (query, column) in QUERIES {
        let query = query.replace("{}", column);
        let mut found = Vec::new();
        for parallel_workers in [1, 4] {
            engine.budget().set_limits(Limits { parallel_workers, ..Limits::default() });
            found.push(session.rows(&query));
        }
        assert_eq!(found[0], found[1], "{query}");
    }
    assert_eq!(engine.budget().usage(Resource::Memory).used, 0);
}

#[test]
fn more_keys_than_were_expected_read_all_rows() {
    let (_database, mut session) = TestDatabase::create();
    tables(&mut session);
    session.execute("insert into few select mod(id, 1009), null, null from t");
    let query = "select count(*), sum(t.id) from (select distinct k from few) f, t where";
    let found = session.rows(&format!("{query} t.a = f.k"));
    assert_eq!(found, session.rows(&format!("{query} coalesce(t.a, t.a) = f.k")));
}
