//! Large scans, joins and groups by several threads: the same rows in the same order, the same sums to the last bit, the
//! same errors behind the same rows as by one.

mod ddl_support;

use ddl_support::{Session, TestDatabase, described};
use farbird_engine::budget::{Limits, Resource};

/// Enough for many stretches, of which the first few are always made by one thread.
const ROWS: u32 = 90_000;

fn database() -> (TestDatabase, Session) {
    let (database, mut session) = TestDatabase::create();
    session.execute("create table seed (k int)");
    session.execute(
        "create table t (id int, k int, n numeric(15, 2), d double precision, v varchar(20), dt date)",
    );
    session.execute("create table u (id int, name varchar(20), d double precision)");
    session.commit();
    session.execute(
        "execute block as declare i int = 0; begin
         while (i < 300) do begin insert into seed values (:i); i = i + 1; end end",
    );
    session.execute(&format!(
        "insert into t select first {ROWS} a.k * 300 + b.k, mod(a.k * 7919 + b.k * 31, 1009),
           iif(mod(b.k, 17) = 0, null, (a.k - b.k) * 1.37), (a.k * 0.1e0 + b.k) / 7e0,
           'text ' || mod(a.k + b.k, 50), dateadd(mod(b.k, 200) day to date '2024-01-01')
         from seed a cross join seed b"
    ));
    session.execute("insert into u select k * 3, 'name ' || mod(k, 9), k / 3e0 from seed");
    session.execute("delete from t where mod(id, 1000) = 7");
    session.commit();
    session.execute("update t set d = d + 1e0 where mod(id, 5000) = 11");
    (database, session)
}

const QUERIES: &[&str] = &[
    "select count(*), sum(n), sum(d), avg(d), min(dt), max(v) from t",
    "select k, count(*), sum(n * n), sum(d) from t where mod(id, 3) <> 1 group by k",
    "select v, dt, sum(d), max(id) from t where v like '%1%' group by v, dt",
    "select u.name, count(*), sum(t.d * u.d), min(t.v) from t join u on t.k = u.id group by u.name",
    "select count(*), sum(t.d), sum(u.d) from t left join u on t.k = u.id and t.n > u.d",
    "select count(*), sum(d) from t where exists (select 1 from u where u.id = t.k and u.d < t.d)",
    "select count(*), sum(d) from t where not exists (select 1 from u where u.id = t.k)",
    "select u.name, sum(t.d), count(t.id) from u left join t on t.k = u.id group by u.name",
    "select w, sum(x) from (select t.d * 2e0 x, mod(t.id, 7) w from t join u on t.k = u.id) where x > 5e0 group by w",
    "select first 30 id, d from t where n is not null order by d desc, id",
    "select mod(k, 5), sum(d * 2e0) filter (where n > 3), count(distinct v), max(upper(v)) from t group by 1",
    "select v || dt, sum(n + id), avg(d / 3e0) from t group by 1 having count(*) > 3",
    "select id, row_number() over (partition by k order by d desc, id), sum(d) over (partition by v order by id) from t",
    "select distinct k, v from t where n > 20",
    "select id, v from t order by v, d",
    "select id from t where mod(id, 3) <> 1 order by n desc nulls last, mod(k, 10)",
    "select first 500 skip 40000 id, v from t order by d",
    "select count(*) from (select k, n from t union select k, d from t)",
    "select count(*) from t a join t b on a.id = b.id + 1 where a.n > b.n",
    // A key of some rows that each row of the other side has.
    "select count(*), sum(t.d * seed.k), max(t.v) from t join seed on mod(t.id, 70) = seed.k * 0",
    "select seed.k, count(*), sum(t.d) from t join seed on mod(t.id, 70) = seed.k * 0 and t.k < seed.k * 50 group by 1",
    "select count(*), sum(x.k) from (select t.id, a.k from t left join seed a on mod(t.id, 9000) = a.k * 0) x
       join seed b on mod(x.id, 300) = b.k * 0",
    // Rows with many partners and rows without one, next to each other.
    "select count(*), sum(t.d), sum(seed.k) from t left join seed on mod(t.id, 80) = seed.k * 0 and seed.k < t.k
       left join u on u.id = t.k and u.d < t.d",
    // Fails at some row far behind the first ones.
    "select sum(1000 / (t.id - 70000)) from t join seed on mod(t.id, 50) = seed.k * 0",
    "select sum(1000 / (id - 70000)) from t",
    "select k, sum(d) from t where 1000 / (id - 80000) < 5000 group by k",
    "select mod(k, 10), sum(1000 / (id - 60000)) from t group by 1",
    "select id from t order by 1000 / (id - 60000)",
];

#[test]
fn several_threads_give_what_one_gives() {
    let (database, mut session) = database();
    let engine = database.engine();
    for query in QUERIES {
        let mut found = Vec::new();
        for parallel_workers in [1, 2, 5] {
            engine.budget().set_limits(Limits { parallel_workers, ..Limits::default() });
            found.push(session.run(query).map(|rows| format!("{rows:?}")).map_err(|error| described(&error)));
        }
        assert!(found[0] == found[1] && found[0] == found[2], "{query}: {found:?}");
        assert_eq!(found[0].is_err(), query.contains("1000 /"), "{query}: {found:?}");
    }
    assert_eq!(engine.budget().usage(Resource::Memory).used, 0);
    // Past their memory, too. Joins have no order then.
    let is_ordered = |query: &&&str| !["1000 /", "join", "exists"].iter().any(|part| query.contains(part));
    for query in QUERIES.iter().filter(is_ordered) {
        let mut found = Vec::new();
        for parallel_workers in [1, 4] {
            let limits = Limits { parallel_workers, statement_memory: 3_000_000, ..Limits::default() };
            engine.budget().set_limits(limits);
            found.push(session.run(query).map(|rows| format!("{rows:?}")).map_err(|error| described(&error)));
        }
        assert!(found[0] == found[1], "{query}: {found:?}");
    }
    assert_eq!(engine.budget().usage(Resource::Memory).used, 0);
    // Joins whose inner side just fits.
    for query in QUERIES.iter().filter(|query| query.contains("seed")) {
        let mut found = Vec::new();
        for parallel_workers in [1, 4] {
            let limits = Limits { parallel_workers, statement_memory: 200_000, ..Limits::default() };
            engine.budget().set_limits(limits);
            found.push(session.run(query).map(|rows| format!("{rows:?}")).map_err(|error| described(&error)));
        }
        assert!(found[0] == found[1], "{query}: {found:?}");
    }
    assert_eq!(engine.budget().usage(Resource::Memory).used, 0);
}
