//! What the system tables show of the same definitions as a real Firebird was given.
//!
//! tests/data/system-tables.tsv was recorded from Firebird 4.0: a statement per line, and its rows. Texts are compared
//! without the spaces at their ends.

mod ddl_support;

use ddl_support::TestDatabase;

/// Lines on which Farbird answers otherwise, with its answer and the reason for it.
const DIFFERENCES: &[(&str, &str)] = &[];

#[test]
fn system_tables_show_what_firebirds_show() {
    let (_database, mut session) = TestDatabase::create();
    let mut differing = Vec::new();
    for line in include_str!("data/system-tables.tsv").lines() {
        let (sql, expected) = line.split_once('\t').expect("a statement and its rows");
        if expected == "OK" {
            session.execute(sql);
            session.commit();
            continue;
        }
        let expected =
            DIFFERENCES.iter().find(|(known, _)| *known == sql).map_or(expected, |(_, ours)| *ours);
        let found = session.rows(sql).join(" ; ");
        if found != expected {
            differing.push(format!("{sql}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(differing.is_empty(), "{} of the answers differ:\n{}", differing.len(), differing.join("\n"));
}

#[test]
fn page_buffers_are_what_the_cache_has_room_for() {
    let options = farbird_engine::StoreOptions { cache_bytes: 24 << 20, ..Default::default() };
    let (_database, mut session) = TestDatabase::create_with(options);
    let shown = session.rows("select mon$page_buffers, mon$page_size from mon$database");
    assert_eq!(shown, [format!("{}|8192", (24 << 20) / 8192)]);
}

#[test]
fn system_tables_list_themselves() {
    let (_database, mut session) = TestDatabase::create();
    assert_eq!(
        session.rows(
            "select count(*) from rdb$relations r join rdb$relation_fields f
             on f.rdb$relation_name = r.rdb$relation_name
             where r.rdb$system_flag = 1 and r.rdb$relation_name not starting with 'FARBIRD$'"
        ),
        ["511"]
    );
}

#[test]
fn attachments_are_seen_by_administrators_and_by_their_own_user() {
    let (database, mut session) = TestDatabase::create();
    let mut other = database.attach("SOMEBODY", None);
    let count = "select count(*) from mon$attachments";
    assert_eq!(session.rows(count), ["2"]);
    assert_eq!(other.rows(count), ["1"]);
}

/// Those that no system table's column has: routines of system packages do, or older databases did.
#[test]
fn domains_that_no_column_uses_are_there_too() {
    let (_database, mut session) = TestDatabase::create();
    let rows = session.rows(
        "select trim(rdb$field_name), rdb$field_type, rdb$field_length, rdb$field_sub_type, rdb$character_set_id
         from rdb$fields where rdb$field_name in ('RDB$BLOB', 'RDB$BLOB_UTIL_HANDLE', 'RDB$DBTZ_VERSION', 'RDB$INTEGER',
           'RDB$PARAMETER_MECHANISM', 'RDB$PLAN', 'RDB$PROFILE_SESSION_ID', 'RDB$SECONDS_INTERVAL',
           'RDB$SHORT_DESCRIPTION', 'RDB$TIMESTAMP', 'RDB$TIME_ZONE_OFFSET', 'RDB$VARBINARY_MAX', 'SEC$USER_NAME')
         order by rdb$field_name",
    );
    let expected = [
        "RDB$BLOB|261|8|0|NULL",
        "RDB$BLOB_UTIL_HANDLE|8|4|NULL|NULL",
        "RDB$DBTZ_VERSION|37|10|2|2",
        "RDB$INTEGER|8|4|NULL|NULL",
        "RDB$PARAMETER_MECHANISM|7|2|NULL|NULL",
        "RDB$PLAN|261|8|1|4",
        "RDB$PROFILE_SESSION_ID|16|8|NULL|NULL",
        "RDB$SECONDS_INTERVAL|8|4|NULL|NULL",
        "RDB$SHORT_DESCRIPTION|37|1020|3|4",
        "RDB$TIMESTAMP|35|8|NULL|NULL",
        "RDB$TIME_ZONE_OFFSET|7|2|NULL|NULL",
        "RDB$VARBINARY_MAX|37|32765|NULL|0",
        "SEC$USER_NAME|37|252|3|4",
    ];
    assert_eq!(rows, expected);
    let count = "select count(*) from rdb$fields where rdb$system_flag = 1";
    assert_eq!(session.rows(count), ["180"]);
}

/// A column of a group, a union, a derived table or beside a window function has a domain of its own and no base, as on
/// Firebird 5; drivers take what is not null from the base.
#[test]
fn columns_of_views_have_a_base_where_they_show_a_column_as_it_is() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table cu (id integer not null primary key, name varchar(10) not null)");
    for (view, query) in [
        ("plain", "select id, name from cu where id > 0"),
        ("different", "select distinct id from cu"),
        ("joined (id, other)", "select a.id, b.name from cu a left join cu b on a.id = b.id"),
        ("grouped (id, n)", "select id, count(*) from cu group by id"),
        ("united", "select id from cu union all select id from cu"),
        ("windowed", "select id, row_number() over (order by id) as n from cu"),
        ("derived", "select id from (select id from cu) d"),
        ("over_plain", "select id from plain"),
        ("over_grouped", "select id from grouped"),
    ] {
        session.execute(&format!("create view {view} as {query}"));
        session.commit();
    }
    let rows = session.rows(
        "select trim(v.rdb$relation_name) || '.' || trim(v.rdb$field_name), trim(v.rdb$base_field), v.rdb$view_context,
           v.rdb$update_flag, iif(v.rdb$field_source = t.rdb$field_source, 'its own', 'new')
         from rdb$relation_fields v left join rdb$relation_fields t
           on t.rdb$relation_name = 'CU' and t.rdb$field_name = iif(v.rdb$field_name = 'OTHER', 'NAME', v.rdb$field_name)
         join rdb$relations r on r.rdb$relation_name = v.rdb$relation_name and r.rdb$view_blr is not null
           and r.rdb$system_flag = 0
         order by 1",
    );
    let expected = [
        "DERIVED.ID|NULL|NULL|0|new",
        "DIFFERENT.ID|ID|1|1|its own",
        "GROUPED.ID|NULL|NULL|0|new",
        "GROUPED.N|NULL|NULL|0|new",
        "JOINED.ID|ID|1|0|its own",
        "JOINED.OTHER|NAME|2|0|its own",
        "OVER_GROUPED.ID|ID|1|0|new",
        "OVER_PLAIN.ID|ID|1|1|its own",
        "PLAIN.ID|ID|1|1|its own",
        "PLAIN.NAME|NAME|1|1|its own",
        "UNITED.ID|NULL|NULL|0|new",
        "WINDOWED.ID|NULL|NULL|0|new",
        "WINDOWED.N|NULL|NULL|0|new",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn parameters_tell_the_digits_that_were_declared() {
    let (_database, mut session) = TestDatabase::create();
    session.execute(
        "create procedure p (a numeric(15, 2)) returns (b decimal(9, 1), c integer) as begin suspend; end",
    );
    session.execute("create function f (a numeric(4, 1)) returns numeric(38, 2) as begin return a; end");
    session.commit();
    let precision = |table: &str, name: &str| {
        format!(
            "select f.rdb$field_precision from {table} p join rdb$fields f on f.rdb$field_name = p.rdb$field_source
             where p.{name} = '{}' order by 1",
            if name == "rdb$procedure_name" { "P" } else { "F" }
        )
    };
    assert_eq!(session.rows(&precision("rdb$procedure_parameters", "rdb$procedure_name")), ["0", "9", "15"]);
    assert_eq!(session.rows(&precision("rdb$function_arguments", "rdb$function_name")), ["4", "38"]);
}

/// As Firebird 5 counts them in a new database, but for the privileges on tables and packages.
#[test]
fn everybody_may_use_the_systems_domains_character_sets_collations_and_generators() {
    let (_database, mut session) = TestDatabase::create();
    let rows = session.rows(
        "select trim(rdb$user), rdb$object_type, rdb$privilege, rdb$grant_option, count(*) from rdb$user_privileges
         where rdb$object_type in (9, 11, 14, 17) or rdb$user_type <> 8 group by 1, 2, 3, 4 order by 2, 1, 3",
    );
    let mut expected = Vec::new();
    for number in ["22", "3", "4"] {
        expected.extend(["D", "I", "R", "S", "U"].map(|letter| format!("{number}|0|{letter}|0|1")));
    }
    for (kind, count) in [(9, 180), (11, 52), (14, 11), (17, 149)] {
        expected.push(format!("PUBLIC|{kind}|G|0|{count}"));
        expected.push(format!("SYSDBA|{kind}|G|1|{count}"));
    }
    assert_eq!(rows, expected);
    session.execute("create domain d as integer");
    session.commit();
    let own = "select trim(rdb$user), rdb$privilege, rdb$grant_option from rdb$user_privileges where rdb$relation_name = 'D'";
    assert_eq!(session.rows(own), ["SYSDBA|G|1"]);
}

#[test]
fn statistics_of_tables_columns_and_indexes_are_shown_without_a_command() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table t (id integer primary key, color varchar(10))");
    session.execute("create index by_color on t (color, id)");
    session.commit();
    session.execute(
        "execute block as declare k integer = 0;
         begin
           while (k < 5000) do begin
             insert into t values (:k, decode(mod(:k, 5), 0, null, 1, 'red', 2, 'green', 'blue'));
             k = k + 1;
           end
         end",
    );
    session.commit();
    // Whoever plans a statement looks first; who only wants to see is shown what is known, and the background looks.
    let mut table = Vec::new();
    for _ in 0..100 {
        table = session.rows(
            "select farbird$rows, farbird$exact from farbird$statistics
             where farbird$relation_name = 'T' and farbird$field_name is null and farbird$index_name is null",
        );
        if !table.is_empty() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        session.commit();
    }
    assert_eq!(table, ["5000|TRUE"]);
    assert_eq!(
        session.rows(
            "select trim(farbird$field_name), cast(farbird$distinct as integer),
               cast(farbird$null_fraction as numeric(4, 2))
             from farbird$statistics
             where farbird$relation_name = 'T' and farbird$field_name is not null order by 1"
        ),
        ["COLOR|3|0.20", "ID|5000|0.00"]
    );
    assert_eq!(
        session.rows("select cast(rdb$statistics as numeric(9, 4)) from rdb$index_segments where rdb$index_name = 'BY_COLOR' order by rdb$field_position"),
        ["0.2500", "0.0002"]
    );
    assert_eq!(
        session.rows(
            "select cast(rdb$statistics as numeric(9, 4)) from rdb$indices where rdb$index_name = 'BY_COLOR'"
        ),
        ["0.0002"]
    );
    session.execute("delete from t where id >= 50");
    session.commit();
    session.execute("set statistics index by_color");
    session.commit();
    assert_eq!(
        session.rows(
            "select cast(rdb$statistics as numeric(9, 4)) from rdb$indices where rdb$index_name = 'BY_COLOR'"
        ),
        ["0.0200"]
    );
    assert_eq!(
        session.rows(
            "select farbird$rows, cast(farbird$distinct as integer), farbird$exact from farbird$statistics
             where farbird$index_name = 'BY_COLOR' and farbird$key_parts = 1"
        ),
        ["50|4|TRUE"]
    );
}
