//! Statements that stay prepared while definitions change: they do what the same statement does that is prepared now.

mod ddl_support;

use ddl_support::{Session, TestDatabase, described};
use farbird_engine::api::StatementHandle;

const SCHEMA: &[&str] = &[
    "create domain positive as int default 7 check (value > 0)",
    "create table parent (id int primary key, name varchar(20))",
    "create table child (id int primary key, parent_id int references parent on delete cascade on update cascade)",
    "create table grandchild (id int, child_id int references child on delete set null on update cascade)",
    "create table log (text varchar(40))",
    "create table other (id int, name varchar(10))",
    "create table things (id int, amount positive, twice computed by (amount * 2), note varchar(20) default 'none')",
    "create view rich as select id, amount from things where amount > 10",
    "create sequence numbers",
    "create exception too_much 'first text'",
    "create function plus (a int) returns int as begin return a + 1; end",
    "create procedure listed returns (id int) as begin for select id from other into id do suspend; end",
    "create procedure outer_one returns (id int) as begin for select id from listed into id do suspend; end",
    "create trigger things_bi for things before insert as begin if (new.amount > 1000) then exception too_much; end",
];

const ROWS: &[&str] = &[
    "insert into parent values (1, 'one')",
    "insert into parent values (2, 'two')",
    "insert into child values (10, 1)",
    "insert into child values (20, 2)",
    "insert into grandchild values (100, 10)",
    "insert into other values (5, 'five')",
    "insert into things (id, amount) values (1, 5)",
    "insert into things (id, amount) values (2, 50)",
];

/// Each with the number of its columns.
const STATEMENTS: &[(&str, usize)] = &[
    ("select count(*) from parent", 1),
    ("select id, name from parent where id = 1", 2),
    ("select id from rich order by id", 1),
    ("select r.id, t.twice from rich r join things t on t.id = r.id", 2),
    ("select plus(id) from other", 1),
    ("select id from listed", 1),
    ("select id from outer_one", 1),
    ("select next value for numbers from rdb$database", 1),
    ("select cast(3 as positive) from rdb$database", 1),
    ("select count(*) from rdb$relations where rdb$system_flag = 0", 1),
    ("insert into parent values (3, 'three')", 0),
    ("insert into child values (30, 2)", 0),
    ("insert into things (id) values (3)", 0),
    ("insert into things (id, amount) values (4, 2000)", 0),
    ("insert into things (id, amount) values (5, -1)", 0),
    ("insert into rich values (6, 60)", 0),
    ("update or insert into other values (5, 'v') matching (id)", 0),
    (
        "merge into other o using parent p on o.id = p.id when not matched then insert values (p.id, p.name)",
        0,
    ),
    ("update parent set id = 4 where id = 1", 0),
    ("delete from parent where id = 1", 0),
    ("delete from child", 0),
    ("update things set amount = amount + 1 where id = 2", 0),
    ("execute block returns (n int) as begin n = plus(1); suspend; end", 1),
    ("execute procedure listed", 1),
];

/// Each is committed, then every statement is tried; later ones see what earlier ones made.
const DEFINITIONS: &[&str] = &[
    "create table unrelated (id int)",
    "drop table unrelated",
    "create index parent_name on parent (name)",
    "create unique index other_id on other (id)",
    "create unique index parent_double on parent (name)",
    "drop index parent_double",
    "alter domain positive set default 8",
    "alter domain positive drop constraint",
    "alter domain positive add check (value > 4)",
    "create or alter view rich as select id, amount from things where amount > 1",
    "create or alter function plus (a int) returns int as begin return a + 100; end",
    "create or alter procedure listed returns (id int) as begin id = 77; suspend; end",
    "alter exception too_much 'second text'",
    "create trigger parent_ad for parent after delete as begin insert into log values ('gone'); end",
    "create trigger child_ad for child after delete as begin insert into log values ('child gone'); end",
    "create trigger grandchild_au for grandchild after update as begin insert into log values ('freed'); end",
    "alter trigger child_ad inactive",
    "drop trigger parent_ad",
    "create trigger rich_bi for rich before insert as begin insert into log values ('seen'); end",
    "create table cousin (id int references parent on delete cascade)",
    "insert into cousin values (1)",
    "drop table cousin",
    "alter table child add check (id < 25)",
    "alter table things alter note set default 'some'",
    "alter table things alter twice computed by (amount * 3)",
    "alter table things add more int default 4 not null",
    "alter table parent alter name position 1",
    "alter table other alter name type varchar(30)",
    "alter index parent_name inactive",
    "create role clerks",
    "alter sequence numbers restart with 50",
    "alter table other add constraint named unique (name)",
    "drop view rich",
    "create view rich as select id, amount from things where amount > 40",
    "drop table grandchild",
    "alter table log alter text type varchar(50)",
    "create view parent_view as select * from parent",
];

const TABLES: &[&str] = &["parent", "child", "grandchild", "log", "other", "things"];

/// What a statement gave and what the tables hold after it, which is undone.
fn effect(
    session: &mut Session,
    run: impl FnOnce(&mut Session) -> farbird_types::Result<Vec<Vec<farbird_types::Value>>>,
) -> String {
    let outcome = match run(session) {
        Ok(rows) => format!("{rows:?}"),
        Err(error) => described(&error),
    };
    let contents: Vec<String> = TABLES
        .iter()
        .map(|table| match session.run(&format!("select * from {table} order by 1")) {
            Ok(rows) => format!("{table}: {rows:?}"),
            Err(_) => format!("{table} is not there"),
        })
        .collect();
    session.rollback();
    format!("{outcome}\n{}", contents.join("\n"))
}

/// Sequences go on whatever becomes of transactions: every attempt begins where the first did.
fn rewind(session: &mut Session, sequence: i64) {
    session.execute(&format!("alter sequence numbers restart with {sequence}"));
    session.commit();
}

fn held(session: &mut Session) -> Vec<Option<StatementHandle>> {
    let statements = STATEMENTS.iter().map(|(sql, _)| session.keep_prepared(sql).ok()).collect();
    session.rollback();
    statements
}

#[test]
fn held_statements_follow_every_definition() {
    let (database, mut owner) = TestDatabase::create();
    for sql in SCHEMA.iter().chain(ROWS) {
        owner.execute(sql);
        owner.commit();
    }
    let mut holder = database.attach("SYSDBA", None);
    let mut statements = held(&mut holder);
    for definition in DEFINITIONS {
        owner.execute(definition);
        owner.commit();
        for ((sql, columns), statement) in STATEMENTS.iter().zip(&mut statements) {
            let is_sequence = sql.contains("next value");
            if is_sequence {
                rewind(&mut owner, 10);
            }
            let anew = effect(&mut owner, |session| session.run(sql));
            if is_sequence {
                rewind(&mut owner, 10);
            }
            let again = match statement {
                Some(statement) => {
                    effect(&mut holder, |session| session.run_prepared(*statement, *columns, Vec::new()))
                }
                None => effect(&mut holder, |session| session.run(sql)),
            };
            // A client that was told of other columns is told so.
            if again.contains("dsql_sqlda_err") {
                *statement = holder.keep_prepared(sql).ok();
                holder.rollback();
                continue;
            }
            assert_eq!(again, anew, "{sql} after {definition}");
        }
    }
}

#[test]
fn definitions_that_are_rolled_back_are_forgotten() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table t (id int)");
    session.commit();
    session.execute("create trigger t_bi for t before insert as begin new.id = new.id + 1; end");
    let insert = session.keep_prepared("insert into t values (1)").unwrap();
    session.run_prepared(insert, 0, Vec::new()).unwrap();
    assert_eq!(session.rows("select id from t"), ["2"]);
    session.rollback();
    session.run_prepared(insert, 0, Vec::new()).unwrap();
    assert_eq!(session.rows("select id from t"), ["1"]);
    session.rollback();
    session.execute("create or alter trigger t_bi for t before insert as begin new.id = new.id + 5; end");
    session.run_prepared(insert, 0, Vec::new()).unwrap();
    assert_eq!(session.rows("select id from t"), ["6"]);
}

#[test]
fn rights_that_were_taken_away_count_for_held_statements() {
    let (database, mut owner) = TestDatabase::create();
    owner.execute("create table t (id int)");
    owner.execute("grant select on t to anna");
    owner.commit();
    let mut anna = database.attach("ANNA", None);
    let query = anna.keep_prepared("select count(*) from t").unwrap();
    anna.run_prepared(query, 1, Vec::new()).unwrap();
    anna.commit();
    owner.execute("revoke select on t from anna");
    owner.commit();
    let error = anna.run_prepared(query, 1, Vec::new()).unwrap_err();
    assert!(described(&error).contains("no_priv"), "{}", described(&error));
}
