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
