//! WITH RECURSIVE over trees: each row is followed by its successors, whichever way and however many at a time they are read.

mod ddl_support;

use std::collections::BTreeMap;

use ddl_support::{Session, TestDatabase};
use farbird_engine::budget::Limits;

const NODES: i64 = 600;

/// The parent of a node: some have many children, some chains are long.
fn parent(id: i64) -> i64 {
    match id % 3 {
        0 => id - 1,
        1 => id / 45,
        _ => id / 2,
    }
}

fn create(session: &mut Session) {
    session.execute("create table tree (id int not null primary key, parent int, note varchar(30))");
    session.execute("create index tree_parent on tree (parent)");
    session.execute("create sequence g");
    session.commit();
    let of = "case mod(:i, 3) when 0 then :i - 1 when 1 then :i / 45 else :i / 2 end";
    session.execute(&format!(
        "execute block as declare i int = 1; begin insert into tree values (0, null, 'root'); while (i < {NODES}) do begin \
         insert into tree values (:i, {of}, 'node ' || :i); i = i + 1; end end"
    ));
    session.commit();
}

/// The nodes below one, depth first, with their depths; children in the order of their numbers.
fn depth_first(below: i64) -> Vec<String> {
    let mut children: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    (1..NODES).for_each(|id| children.entry(parent(id)).or_default().push(id));
    let (mut rows, mut waiting) = (Vec::new(), vec![(below, 0)]);
    while let Some((id, depth)) = waiting.pop() {
        rows.push(format!("{id}|{depth}"));
        waiting.extend(children.get(&id).into_iter().flatten().rev().map(|child| (*child, depth + 1)));
    }
    rows
}

/// The tree below a node, with something asked of each node in the recursive member.
fn below(node: i64, join: &str) -> String {
    format!(
        "with recursive r (id, depth) as (select id, 0 from tree where id = {node} union all \
         select t.id, r.depth + 1 from {join}) select id, depth from r"
    )
}

/// Joins the parents with their children.
const BY_PARENT: &str = "r join tree t on t.parent = r.id";

#[test]
fn rows_come_depth_first() {
    let (_database, mut session) = TestDatabase::create();
    create(&mut session);
    let whole = depth_first(0);
    assert_eq!(whole.len(), usize::try_from(NODES).unwrap());
    let volatile = "r join tree t on t.parent = r.id and gen_id(g, 1) > 0";
    for join in [BY_PARENT, volatile] {
        assert_eq!(session.rows(&below(0, join)), whole, "{join}");
    }
    for join in [
        BY_PARENT,
        volatile,
        "tree t, r where t.parent = r.id",
        "r join (select * from tree) t on t.parent = r.id",
    ] {
        assert_eq!(session.rows(&below(33, join)), depth_first(33), "{join}");
    }
    // The first ones alone, and from the middle on.
    let some = session.rows(&format!("{} rows 201 to 220", below(0, BY_PARENT)));
    assert_eq!(some, whole[200..220]);
}

#[test]
fn each_opening_begins_with_its_own_row() {
    let (_database, mut session) = TestDatabase::create();
    create(&mut session);
    let counts = session.rows(
        "select first 40 x.id, (with recursive r (id) as (select id from tree where id = x.id union all \
         select t.id from r join tree t on t.parent = r.id and t.id <> x.id + 200) \
         select count(*) || '/' || sum(id) from r) from tree x order by x.id",
    );
    let expected: Vec<String> = (0..40)
        .map(|id| {
            let mut rows: Vec<(i64, i64)> = Vec::new();
            // What is cut off takes its successors with it.
            let mut cut: Option<i64> = None;
            for row in depth_first(id) {
                let (node, depth) = row.split_once('|').unwrap();
                let (node, depth): (i64, i64) = (node.parse().unwrap(), depth.parse().unwrap());
                if cut.is_some_and(|cut| depth > cut) {
                    continue;
                }
                cut = (node == id + 200).then_some(depth);
                if cut.is_none() {
                    rows.push((node, depth));
                }
            }
            format!("{id}|{}/{}", rows.len(), rows.iter().map(|(node, _)| node).sum::<i64>())
        })
        .collect();
    assert_eq!(counts, expected);
}

#[test]
fn rows_before_an_error_come_first_and_the_recursion_has_an_end() {
    let (_database, mut session) = TestDatabase::create();
    create(&mut session);
    let whole = depth_first(0);
    for node in [2, 45, 300, 599] {
        let query = below(0, BY_PARENT).replace("r.depth + 1", &format!("r.depth + 1 + 0 / (t.id - {node})"));
        let place = whole.iter().position(|row| row.starts_with(&format!("{node}|"))).unwrap();
        let rows = session.rows(&format!(
            "execute block returns (n int, code int) as declare id int; declare depth int; begin n = 0; \
             for {query} into :id, :depth do n = n + 1; \
             when any do begin code = gdscode; suspend; end end"
        ));
        assert_eq!(rows, [format!("{place}|335544321")], "node {node}");
    }
    session.rollback();
    session.execute("update tree set parent = 0 where id = 0");
    let error = session.error(&below(0, BY_PARENT));
    assert!(error.contains("req_max_clones_exceeded"), "{error}");
}

#[test]
fn changes_in_a_loop_over_a_recursion_do_not_show_in_it() {
    let (_database, mut session) = TestDatabase::create();
    create(&mut session);
    let rows = session.rows(
        "execute block returns (n int, s bigint, left_over int) as declare id int; begin
           n = 0; s = 0;
           for with recursive r (id) as (select id from tree where id = 0 union all \
             select t.id from r join tree t on t.parent = r.id) select id from r into :id do
           begin
             n = n + 1; s = s + id;
             update tree set parent = -1 where parent = :id;
             delete from tree where id = :id + 1;
           end
           select count(*) from tree into left_over;
           suspend;
         end",
    );
    assert_eq!(rows, [format!("{NODES}|{}|1", (0..NODES).sum::<i64>())]);
}

#[test]
fn wide_rows_of_all_levels_are_charged() {
    let (database, mut session) = TestDatabase::create();
    let numbered = |of: &dyn Fn(usize) -> String| (0..300).map(of).collect::<Vec<_>>().join(", ");
    let query = format!(
        "with recursive r ({}) as (select {} from rdb$database union all select {} from r where r.c0 < 1000) \
         select count(*), {} from r",
        numbered(&|column| format!("c{column}")),
        numbered(&|column| column.to_string()),
        numbered(&|column| format!("r.c{column} + 1")),
        numbered(&|column| format!("max(c{column})")),
    );
    let expected = numbered(&|column| (1000 + column).to_string()).replace(", ", "|");
    assert_eq!(session.rows(&query), [format!("1001|{expected}")]);
    // Each level has the row it looks at and one that follows it, of 7 KiB and more each.
    let budget = database.engine().budget().clone();
    budget.set_limits(Limits { statement_memory: 10 << 20, ..Limits::default() });
    let error = session.error(&query);
    assert!(error.contains("statement-memory-mib"), "{error}");
    // The levels of an opening are not kept for ever: many openings take no more than one.
    budget.set_limits(Limits::default());
    let narrow = "select count(*), sum((with recursive r (n) as (select x.n from rdb$database union all \
                  select r.n + 1 from r where r.n < 200) select count(*) from r)) from \
                  (select row_number() over (order by rdb$field_name) n from rdb$fields rows 50) x";
    assert_eq!(session.rows(narrow), ["50|8775"]);
}

#[test]
fn an_index_on_the_parent_is_used_however_few_parents_there_are() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table few (id int not null primary key, p int)");
    session.execute("create index few_p on few (p)");
    session.commit();
    session.execute(
        "execute block as declare i int = 1; begin insert into few values (0, null); \
         while (i < 700) do begin insert into few values (:i, mod(:i - 1, 3)); i = i + 1; end end",
    );
    session.commit();
    let query = "with recursive r (id, d) as (select id, 0 from few where p is null union all \
                 select t.id, r.d + 1 from r join few t on t.p = r.id and t.id <> r.id) select count(*) from r";
    assert_eq!(session.rows(query), ["700"]);
    let plan = session.rows(&format!("explain {query}")).join("\n");
    assert!(plan.contains("Index \"FEW_P\" Range Scan") && !plan.contains("Hash Join"), "{plan}");
}
