//! What statements really take of memory, counted by the allocator of this program, against what their budget allows.
//!
//! Each shape is run with a small budget over more data than that: it gives the right answer, or the named error, and takes
//! no more than the budget and a margin for what is not counted (batches, buffers of files, the store's cache). A program of
//! its own, since the count is of all threads.

#![expect(unsafe_code, reason = "an allocator that counts can be had in no other way")]

mod ddl_support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ddl_support::{Session, TestDatabase, described};
use farbird_engine::budget::{Account, Limits, Resource};

/// Counts the bytes that are allocated.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn add(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: all is handed on to the system's allocator; only numbers are added to.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller keeps the rules of the same method of the same trait.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        add(new_size);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The count is of one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a statement may take here.
const BUDGET: u64 = 1 << 20;
/// What it may take beside it: batches, buffers of files, what the store reads.
const MARGIN: usize = 1 << 20;
/// What uncommitted changes of so many rows take: they are the transaction's, and go to the file when they are many more.
const CHANGES: usize = 4 << 20;

const ROWS: u32 = 8_000;

/// A shape, and the error that it may end in instead of an answer.
struct Shape {
    sql: &'static str,
    error: Option<&'static str>,
    margin: usize,
}

const fn spills(sql: &'static str) -> Shape {
    Shape { sql, error: None, margin: MARGIN }
}

const fn changes(sql: &'static str) -> Shape {
    Shape { sql, error: None, margin: MARGIN + CHANGES }
}

const fn fails(sql: &'static str) -> Shape {
    Shape { sql, error: Some("virmemexh"), margin: MARGIN }
}

/// Every operator and expression that keeps what it has read.
const SHAPES: &[Shape] = &[
    spills("select id, t from big order by t"),
    spills("select distinct t from big"),
    spills("select t from big union select t || '!' from big"),
    spills("select a.id, b.t from big a join big b on a.id = b.id + 1 and a.t <> b.t"),
    spills("select a.id, b.t from big a left join big b on a.t = b.t"),
    spills("select a.id, b.id from big a full join big b on a.t = b.t || '!'"),
    spills("select a.id, b.id from big a join big b on a.same = b.same and b.id < 20"),
    spills("select t, count(*), max(id) from big group by t"),
    spills("select count(distinct t) from big"),
    spills("select same, count(distinct t), count(*) from big group by same"),
    spills("select mod(id, 100), max(t) from big group by 1"),
    spills("select count(*) from big where id < 5000 or id between 2000 and 7000 or id in (3, 7500)"),
    spills("select count(*) from big a where id in (select id from big where id < 200)"),
    changes("update big set same = same + 0 returning id, t"),
    changes("delete from big returning t"),
    changes("insert into copy select id, same, t from big returning t"),
    changes("merge into big using (select id from big) s on big.id = s.id when matched then update set same = 2"),
    spills(
        "with recursive r as (select id, t from big where id < 5 union all
           select r.id + 1000, r.t || 'x' from r where r.id < 7000)
         select id, t from r order by t",
    ),
    spills(
        "execute block returns (n int) as declare c scroll cursor for (select id, t from big); declare t varchar(200);
         begin open c; fetch last from c into n, t; suspend; fetch first from c into n, t; suspend; end",
    ),
    // Both sides of this one are BLOBs that double: 16 MB at the end.
    spills(
        "execute block returns (n bigint) as declare b blob sub_type text = 'sixteen bytes...'; declare i int = 0;
         begin while (i < 20) do begin b = b || b; i = i + 1; end n = octet_length(b); suspend; end",
    ),
    spills("select id, row_number() over (partition by mod(id, 50) order by t) from big"),
    spills("select id, row_number() over (order by t), sum(id) over (order by t) from big"),
    fails("select id, max(id) over (order by t rows 100 preceding) from big"),
    spills("select count(*) from (select cast(mod(id, 50) || t as blob sub_type text) b from big where id < 500) group by b"),
    fails("execute procedure deep(400)"),
    fails(
        "execute block returns (n int) as declare b blob sub_type text = ',1'; declare i int = 0;
         begin while (i < 14) do begin b = b || b; i = i + 1; end
         execute statement 'select 1 from rdb$database where 1 in (1' || b || ')' into n; suspend; end",
    ),
    fails("select octet_length(list(t)) from big"),
    fails("select mod(id, 2), list(t) from big group by 1"),
    fails(
        "execute block returns (n bigint) as declare b blob sub_type text = 'sixteen bytes...'; declare i int = 0;
         begin while (i < 20) do begin b = b || b; i = i + 1; end n = octet_length(upper(b)); suspend; end",
    ),
    fails(
        "execute block returns (n bigint) as declare b blob sub_type text = 'sixteen bytes...'; declare i int = 0;
         begin while (i < 20) do begin b = replace(b, 's', 'ssssssssssssssssssss'); i = i + 1; end suspend; end",
    ),
];

fn limits(statement_memory: u64) -> Limits {
    Limits { statement_memory, ..Limits::default() }
}

/// Runs a shape; gives a sum of its rows that does not depend on their order, or the error, and what it took at most.
fn measured(session: &mut Session, sql: &str) -> (Result<(u64, u64), String>, usize) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let mut rows = 0;
    let mut sum = 0u64;
    let outcome = session.for_each_row(sql, &mut |row| {
        let mut hasher = DefaultHasher::new();
        format!("{row:?}").hash(&mut hasher);
        sum = sum.wrapping_add(hasher.finish());
        rows += 1;
    });
    let taken = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    session.rollback();
    (outcome.map(|()| (rows, sum)).map_err(|error| described(&error)), taken)
}

#[test]
fn no_statement_takes_more_than_its_budget() {
    let _alone = alone();
    let (database, mut session) = TestDatabase::create();
    session.execute("create table big (id int not null primary key, same int, t varchar(200))");
    session.execute("create table copy (id int, same int, t varchar(200))");
    session.execute(
        "create procedure deep (n int) as declare v varchar(32000) character set ascii;
         begin v = rpad('', 32000, 'x'); if (n > 0) then execute procedure deep(n - 1); end",
    );
    session.commit();
    session.execute(&format!(
        "execute block as declare i int = 0; begin while (i < {ROWS}) do begin
           insert into big values (:i, 1, 'row ' || :i || rpad('', 120, '.')); i = i + 1; end end"
    ));
    session.commit();
    let budget = database.engine().budget().clone();
    let mut wrong = Vec::new();
    prepared_statements(&mut session, &budget, &mut wrong);
    variables(&mut session, &budget, &mut wrong);
    for shape in SHAPES {
        let name: String = shape.sql.split_whitespace().collect::<Vec<_>>().join(" ");
        let (expected, unlimited) = match shape.error {
            Some(_) => (Err(String::new()), 0),
            None => {
                budget.set_limits(limits(u64::MAX));
                measured(&mut session, shape.sql)
            }
        };
        budget.set_limits(limits(BUDGET));
        let (found, taken) = measured(&mut session, shape.sql);
        println!("{:>6} KiB of {:>6}: {name}", taken >> 10, unlimited >> 10);
        let as_expected = match (&found, shape.error) {
            (Ok(_), None) => found == expected,
            (Err(error), Some(named)) => error.starts_with(named) && error.contains("statement-memory-mib"),
            _ => false,
        };
        if !as_expected {
            wrong.push(format!("{name}\n  expected {expected:?}\n  found    {found:?}"));
        }
        if taken > BUDGET as usize + shape.margin {
            wrong.push(format!("{name}\n  took {} KiB", taken >> 10));
        }
        if budget.usage(Resource::Memory).used + budget.usage(Resource::Temporary).used > 0 {
            wrong.push(format!("{name}\n  has not given all back"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// With room for all of it, what an operator takes is what the account says, in many rows of a few bytes each: what is taken for
/// each row shows there.
#[test]
fn what_is_taken_is_told() {
    let _alone = alone();
    let mut wrong = Vec::new();
    for query in [
        "select mod(a.id * 7919 + b.id * 104729, 1000003) k, a.id from n a cross join n b order by 1",
        "select mod(a.id * 7919 + b.id * 104729, 1000003) k, a.id from n a cross join n b order by 1 fetch first 40000 rows only",
        "select distinct mod(a.id * 7919 + b.id * 104729, 50021) from n a cross join n b",
        "select distinct a.id * 1000 + b.id from n a cross join n b",
        "select mod(a.id * 7919 + b.id * 104729, 100003) k, count(*) from n a cross join n b group by 1",
        "select lpad(mod(a.id * 7919 + b.id * 104729, 100003), 12) k, sum(a.id) from n a cross join n b group by 1",
        "select count(*) from n c join (select a.id * 400 + b.id k from n a cross join n b) d on d.k = c.id * 7",
    ] {
        let (database, mut session) = TestDatabase::create();
        session.execute("create table n (id int not null)");
        session.commit();
        session.execute(
            "execute block as declare i int = 0; begin while (i < 400) do begin insert into n values (:i); i = i + 1; end end",
        );
        session.commit();
        let (found, taken) = measured(&mut session, query);
        let told = database.engine().budget().usage(Resource::Memory).peak as usize;
        println!("{:>6} KiB told {:>6}: {query}", taken >> 10, told >> 10);
        // Groups of a number are small: a million of them fit in what a statement has.
        let most = if query.contains("k, count(*)") { 8 << 20 } else { usize::MAX };
        if found.is_err() || taken > told + MARGIN || told > most {
            wrong.push(format!("{query}\n  took {} KiB, told {}, {found:?}", taken >> 10, told >> 10));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Long texts in variables count, at any level of calls, and are given back when they go.
fn variables(session: &mut Session, budget: &Account, wrong: &mut Vec<String>) {
    budget.set_limits(limits(BUDGET));
    let count = BUDGET / 32_000 + 10;
    let declared: String =
        (0..count).map(|number| format!("declare v{number} varchar(32000) character set ascii; ")).collect();
    let long = |number| format!("v{number} = rpad('', 32000, 'x'); ");
    let all: String = (0..count).map(long).collect();
    let each: String = (0..count).map(|number| format!("{} v{number} = ''; ", long(number))).collect();
    for (body, expected) in [(&all, false), (&each, true)] {
        let outcome = session.run(&format!("execute block as {declared} begin {body} end"));
        let is_ok = match &outcome {
            Ok(_) => expected,
            Err(error) => !expected && described(error).contains("statement-memory-mib"),
        };
        if !is_ok {
            wrong.push(format!("{count} variables: {outcome:?}"));
        }
        session.rollback();
    }
}

/// How often a statement is prepared until what it took is what it was charged.
const TRIES: usize = 3;

/// Prepares a statement; gives what it took and what it was charged.
fn prepared(session: &mut Session, budget: &Account, text: &str) -> (usize, usize) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let statement = session.keep_prepared(text).expect("a statement");
    let taken = PEAK.load(Ordering::Relaxed) - before;
    let charged = usize::try_from(budget.usage(Resource::Memory).used).expect("a size");
    session.forget(statement);
    (taken, charged)
}

/// A prepared statement is charged with about what it takes, however it is written.
fn prepared_statements(session: &mut Session, budget: &Account, wrong: &mut Vec<String>) {
    let list = |item: &str, count: usize| vec![item; count].join(",");
    let conditions =
        |count: usize| vec![format!("({})", vec!["id = 5"; 70].join(" or ")); count].join(" and ");
    let texts = [
        "select id, t from big where id = ?".to_owned(),
        "update big set t = ? where id = ?".to_owned(),
        format!("select 1 from rdb$database where 1 in ({})", list("1", 65_535)),
        format!("select 1 from big where id in ({})", list("123456", 20_000)),
        format!("select {} from rdb$database", list("1", 20_000)),
        format!("select coalesce({}) from rdb$database", list("null", 20_000)),
        format!("select 1 from big where {}", conditions(70)),
        format!("execute block as declare i int; begin {} end", "i = i + 1;".repeat(20_000)),
        format!("execute block as begin {} end", "insert into copy values (1, 2, 'three');".repeat(3_000)),
    ];
    // The first plan looks at some rows, for statistics that all share.
    let first = session.keep_prepared("select id, t from big where id = ?").expect("a statement");
    session.forget(first);
    for text in texts {
        // What the store writes in the background is counted too: then it is not at work again.
        let fits = (0..TRIES).any(|number| {
            let (taken, charged) = prepared(session, budget, &format!("{text}{}", " ".repeat(number)));
            println!("{:>6} KiB, charged {:>6}: {text:.60}", taken >> 10, charged >> 10);
            (charged / 4..charged * 3).contains(&taken)
        });
        if !fits {
            wrong.push(format!("{text:.60}\n  took more or less than it was charged, as printed above"));
        }
    }
    budget.set_limits(limits(BUDGET));
    let list = format!("select 1 from rdb$database where 1 in ({})", list("1", 65_535));
    let refused = session.error(&list);
    if !refused.starts_with("virmemexh") {
        wrong.push(refused);
    }
}
