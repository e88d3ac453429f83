//! Window frames of every kind against a plain computation of the same: random frames over random rows.

mod ddl_support;

use ddl_support::TestDatabase;
use farbird_types::Value;

/// Rows of the table: enough for frames that are put together of blocks.
const ROWS: usize = 300;
/// Frames that are tried.
const FRAMES: usize = 100;

/// A row: its number, its place in the order, and what is aggregated.
#[derive(Debug, Clone, Copy)]
struct Row {
    id: i64,
    key: Option<i64>,
    amount: Option<i64>,
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    UnboundedPreceding,
    Preceding(i64),
    CurrentRow,
    Following(i64),
    UnboundedFollowing,
}

impl Bound {
    fn sql(self) -> String {
        match self {
            Bound::UnboundedPreceding => "unbounded preceding".to_owned(),
            Bound::Preceding(distance) => format!("{distance} preceding"),
            Bound::CurrentRow => "current row".to_owned(),
            Bound::Following(distance) => format!("{distance} following"),
            Bound::UnboundedFollowing => "unbounded following".to_owned(),
        }
    }

    /// Its distance behind the current row; without end for the unbounded ones.
    fn distance(self) -> i64 {
        match self {
            Bound::UnboundedPreceding => i64::MIN / 4,
            Bound::Preceding(distance) => -distance,
            Bound::CurrentRow => 0,
            Bound::Following(distance) => distance,
            Bound::UnboundedFollowing => i64::MAX / 4,
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    rows: bool,
    descending: bool,
    nulls_first: bool,
    start: Bound,
    end: Bound,
    exclusion: &'static str,
}

impl Frame {
    fn random(numbers: &mut Numbers) -> Frame {
        let rows = numbers.below(2) == 0;
        let distance = |numbers: &mut Numbers| {
            i64::try_from(if numbers.below(2) == 0 { numbers.below(4) } else { numbers.below(150) }).unwrap()
        };
        let mut bound = || match numbers.below(5) {
            0 => Bound::UnboundedPreceding,
            1 => Bound::Preceding(distance(numbers)),
            2 => Bound::CurrentRow,
            3 => Bound::Following(distance(numbers)),
            _ => Bound::UnboundedFollowing,
        };
        // What the grammar allows.
        let (start, end) = loop {
            let (start, end) = (bound(), bound());
            let kind = |bound: Bound| match bound {
                Bound::UnboundedPreceding => 0,
                Bound::Preceding(_) => 1,
                Bound::CurrentRow => 2,
                Bound::Following(_) => 3,
                Bound::UnboundedFollowing => 4,
            };
            if kind(start) <= kind(end) && kind(start) < 4 && kind(end) > 0 {
                break (start, end);
            }
        };
        let exclusions = ["no others", "current row", "group", "ties"];
        Frame {
            rows,
            start,
            end,
            descending: numbers.below(2) == 0,
            nulls_first: numbers.below(2) == 0,
            exclusion: exclusions[usize::try_from(numbers.below(4)).unwrap()],
        }
    }

    fn sql(&self) -> String {
        format!(
            "order by k {} nulls {} {} between {} and {} exclude {}",
            if self.descending { "desc" } else { "asc" },
            if self.nulls_first { "first" } else { "last" },
            if self.rows { "rows" } else { "range" },
            self.start.sql(),
            self.end.sql(),
            self.exclusion,
        )
    }

    /// Where a row stands in the order: NULLs at one end.
    fn place_of(&self, row: &Row) -> (i64, i64) {
        match row.key {
            None if self.nulls_first => (0, 0),
            None => (2, 0),
            Some(key) => (1, if self.descending { -key } else { key }),
        }
    }

    /// Whether a bound lets a row in, seen from the current one.
    fn has(&self, rows: &[Row], current: usize, other: usize) -> bool {
        let number = |place: usize| i64::try_from(place).unwrap();
        let (own, its) = (self.place_of(&rows[current]), self.place_of(&rows[other]));
        let is_peer = own == its;
        let excluded = match self.exclusion {
            "current row" => current == other,
            "group" => is_peer,
            "ties" => is_peer && current != other,
            _ => false,
        };
        let within = if self.rows {
            let distance = number(other) - number(current);
            distance >= self.start.distance() && distance <= self.end.distance()
        } else {
            // A NULL is as far from everything else as can be, and next to other NULLs.
            let reaches = |bound: Bound, is_start: bool| match bound {
                Bound::UnboundedPreceding | Bound::UnboundedFollowing => true,
                _ if own.0 != 1 => {
                    if is_start {
                        its >= own
                    } else {
                        its <= own
                    }
                }
                bound => {
                    let limit = (1, own.1 + bound.distance());
                    if is_start { its >= limit } else { its <= limit }
                }
            };
            reaches(self.start, true) && reaches(self.end, false)
        };
        within && !excluded
    }
}

fn integer(value: Option<i64>) -> Value {
    value.map_or(Value::Null, Value::integer)
}

/// The columns that the query below gives for a frame's rows.
fn expected(rows: &[&Row]) -> Vec<Value> {
    let amounts: Vec<i64> = rows.iter().filter_map(|row| row.amount).collect();
    let count = i64::try_from(amounts.len()).unwrap();
    let sum = (count > 0).then(|| amounts.iter().sum::<i64>());
    let mut different = amounts.clone();
    different.sort_unstable();
    different.dedup();
    let even: i64 = amounts.iter().filter(|amount| *amount % 2 == 0).sum();
    let has_even = amounts.iter().any(|amount| amount % 2 == 0);
    let double = |number: Option<i64>| number.map_or(Value::Null, |number| Value::Double(number as f64));
    vec![
        Value::integer(i64::try_from(rows.len()).unwrap()),
        Value::integer(count),
        integer(sum),
        integer(sum.map(|sum| sum / count)),
        double(sum),
        integer(amounts.iter().min().copied()),
        integer(amounts.iter().max().copied()),
        integer(rows.first().map(|row| row.id)),
        integer(rows.last().map(|row| row.id)),
        integer(rows.get(2).map(|row| row.id)),
        integer(rows.len().checked_sub(2).and_then(|index| rows.get(index)).map(|row| row.id)),
        Value::integer(i64::try_from(different.len()).unwrap()),
        double((count > 0).then(|| different.iter().sum())),
        integer(has_even.then_some(even)),
        // REGR_SXX of whole numbers, times their count: exact in doubles.
        double((count > 0).then(|| {
            count * amounts.iter().map(|amount| amount * amount).sum::<i64>()
                - sum.unwrap_or(0) * sum.unwrap_or(0)
        })),
    ]
}

fn query(frame: &Frame) -> String {
    let window = frame.sql();
    let columns = [
        "count(*)",
        "count(a)",
        "sum(a)",
        "avg(a)",
        "sum(cast(a as double precision))",
        "min(a)",
        "max(a)",
        "first_value(id)",
        "last_value(id)",
        "nth_value(id, 3)",
        "nth_value(id, 2) from last",
        "count(distinct a)",
        "sum(distinct cast(a as double precision))",
        "sum(a) filter (where mod(a, 2) = 0)",
    ];
    let columns: Vec<String> = columns.iter().map(|column| format!("{column} over ({window})")).collect();
    format!(
        "select id, {}, cast(round(count(a) over ({window}) * regr_sxx(a, a) over ({window})) as double precision) from t",
        columns.join(", ")
    )
}

#[test]
fn random_frames_have_the_rows_that_they_should() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table t (id int, k int, a int)");
    session.commit();
    let mut numbers = Numbers(7);
    let mut rows = Vec::new();
    for id in 0..i64::try_from(ROWS).unwrap() {
        let mut number =
            |limit| (numbers.below(10) > 0).then(|| i64::try_from(numbers.below(limit)).unwrap());
        let row = Row { id, key: number(120), amount: number(40) };
        let text = |value: Option<i64>| value.map_or("null".to_owned(), |value| value.to_string());
        session.execute(&format!("insert into t values ({id}, {}, {})", text(row.key), text(row.amount)));
        rows.push(row);
    }
    session.commit();
    for _ in 0..FRAMES {
        let frame = Frame::random(&mut numbers);
        let mut ordered = rows.clone();
        ordered.sort_by_key(|row| frame.place_of(row));
        let found = session.run(&query(&frame)).expect("a query");
        assert_eq!(found.len(), ROWS);
        for (place, found) in found.iter().enumerate() {
            let of_frame: Vec<&Row> = (0..ROWS)
                .filter(|other| frame.has(&ordered, place, *other))
                .map(|other| &ordered[other])
                .collect();
            let mut expected = expected(&of_frame);
            expected.insert(0, Value::integer(ordered[place].id));
            // Sums come as BIGINT or INT128: what they say is compared.
            let shown = |values: &[Value]| {
                values.iter().map(farbird_types::convert::to_display_text).collect::<Vec<_>>()
            };
            assert_eq!(shown(found), shown(&expected), "row {place} of {}", frame.sql());
        }
    }
}

/// As Firebird 5.0.4 answers.
#[test]
fn distances_that_are_negative_or_null_are_refused() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table t (id int, x int)");
    session.commit();
    session.execute("insert into t values (1, null)");
    for frame in [
        "rows between x preceding and current row",
        "range between x preceding and x following",
        "rows between -1 preceding and current row",
        "range between -1 preceding and current row",
    ] {
        let sql = format!("select count(*) over (order by id {frame}) from t");
        assert_eq!(session.error(&sql), "window_frame_value_invalid", "{frame}");
    }
}

/// A row that fails does so with the first frame that has it.
#[test]
fn rows_before_the_first_frame_that_fails_come() {
    let (_database, mut session) = TestDatabase::create();
    let cursor = session.open(
        "with recursive n (i) as (select 1 from rdb$database union all select i + 1 from n where i < 9) \
         select sum(1 / (6 - i)) over (order by i rows between 1 preceding and 1 following) from n",
    );
    let sums: Vec<String> = (0..4).map(|_| session.fetch_one(cursor)).collect();
    assert_eq!(sums, ["0", "0", "0", "1"]);
    let mut rows = farbird_engine::api::Rows::default();
    rows.reset(1);
    session.attachment().fetch(cursor, 1, &mut rows).expect_err("a division by zero");
}

/// BLOBs of equal contents are one partition, whether they are columns or chosen among columns.
#[test]
fn partitions_of_blobs_go_by_their_contents() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table t (id int, a blob sub_type text, b blob sub_type text)");
    session.commit();
    for id in 0..100 {
        let (a, b) = if id % 2 == 0 { ("null", "'even'") } else { ("'odd'", "null") };
        session.execute(&format!("insert into t values ({id}, {a}, {b})"));
    }
    for (chosen, count) in [
        ("coalesce(a, b)", 50),
        ("iif(mod(id, 2) = 0, b, a)", 50),
        ("case when id < 200 then coalesce(b, a) end", 50),
        ("a", 50),
        ("case when id < 0 then a end", 100),
    ] {
        for rows in [100, 10] {
            let sql = format!(
                "select min(c), max(c) from (select count(*) over (partition by {chosen}) c from t where id < {rows})"
            );
            let expected = count * rows / 100;
            assert_eq!(session.rows(&sql), [format!("{expected}|{expected}")], "{chosen}, {rows} rows");
        }
    }
}
