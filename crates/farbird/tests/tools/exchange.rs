//! `farbird import` and `farbird export`.

use std::fs;
use std::path::Path;

use crate::harness::{Place, places, serve};

/// Columns of all types that Firebird 3 has.
const OLD_TYPES: &str = "id int not null primary key, s smallint, i integer, b bigint, n4 numeric(4, 1), n9 numeric(9, 2),
    n18 decimal(18, 4), f float, d double precision, da date, ti time, ts timestamp, bo boolean, c char(10), v varchar(50),
    vn varchar(20) character set none, vw varchar(20) character set win1250, bi char(4) character set octets,
    vb varchar(10) character set octets, bt blob sub_type text, bb blob sub_type binary,
    bw blob sub_type text character set win1250";
const OLD_VALUES: &str = "-32768, -2147483648, -9223372036854775808, -999.9, -12345.67, 12345678901234.5678, 0.1,
    cast(1 as double precision) / 3, '0001-01-01', '23:59:59.9999', '9999-12-31 23:59:59.9999', true, 'abc',
    'a \"quoted\", text' || ascii_char(10) || 'line 2', 'plain', 'žluťoučký', x'00FF10AB', x'DEADBEEF', 'text; blob ä',
    x'000102FF', 'kůň'";
/// Columns of the types that came with Firebird 4.
const NEW_TYPES: &str = ", i128 int128, n38 numeric(38, 10), df16 decfloat(16), df34 decfloat(34),
    tz time with time zone, tsz timestamp with time zone";
const NEW_VALUES: &str =
    ", -170141183460469231731687303715884105728, -1234567890123456789012345678.0123456789, 1.5,
    1.234567890123456789012345678901234E50, '10:20:30.1234 Europe/Berlin',
    '2024-07-01 10:20:30.1234 America/New_York'";

/// A table of all types that the place has: a row of values, one of empty texts, one of NULLs.
fn create_all_types(place: &Place, folder: &Path) -> String {
    let (types, values) = match place.has_all_types {
        true => (format!("{OLD_TYPES}{NEW_TYPES}"), format!("{OLD_VALUES}{NEW_VALUES}")),
        false => (OLD_TYPES.to_owned(), OLD_VALUES.to_owned()),
    };
    let script = format!(
        "create table all_types ({types}); insert into all_types values (1, {values});
        insert into all_types (id, v, bt, f, d) values (2, '', '', 1e-30, -1e300);
        insert into all_types (id) values (3);"
    );
    place.sql(folder, "types.fdb", "csv", &script);
    types
}

#[test]
fn what_is_exported_comes_back_the_same_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for place in places(folder) {
        let types = create_all_types(&place, folder);
        let database = place.database("types.fdb");
        let everything = |table: &str| {
            place.sql(folder, "types.fdb", "json", &format!("select * from {table} order by id"))
        };
        let expected = everything("all_types");
        for (format, flags) in
            [("csv", &[][..]), ("tsv", &["--null", "\\N", "--quote", "'"]), ("jsonl", &[]), ("parquet", &[])]
        {
            let (first, second) = (format!("first.{format}"), format!("second.{format}"));
            let run = |arguments: &[&str]| place.succeeds(folder, &[arguments, flags].concat());
            run(&["export", &database, "all_types", &first, "--replace"]);
            place.sql(folder, "types.fdb", "csv", &format!("recreate table copy ({types})"));
            run(&["import", &database, "copy", &first]);
            assert_eq!(everything("copy"), expected, "{database} {format}");
            run(&["export", &database, "copy", &second, "--replace"]);
            assert!(
                fs::read(folder.join(&first)).unwrap() == fs::read(folder.join(&second)).unwrap(),
                "{database} {format}"
            );
        }
    }
}

#[test]
fn csv_is_written_as_the_rfc_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let place = serve(folder.path());
    place.sql(
        folder.path(),
        "app.fdb",
        "csv",
        "create table t (a int, b varchar(30), c numeric(9, 2), d char(5));
        insert into t values (1, 'x, \"y\"', -0.5, 'ab'); insert into t values (null, '', 7, null);",
    );
    let database = place.database("app.fdb");
    let written = place.succeeds(folder.path(), &["export", &database, "t", "-", "--format", "csv"]);
    assert_eq!(written, "A,B,C,D\n1,\"x, \"\"y\"\"\",-0.50,ab\n,\"\",7.00,\n");
    let of_query =
        ["export", &database, "--query", "select b, a from t where a = 1", "-", "--format", "jsonl"];
    assert_eq!(place.succeeds(folder.path(), &of_query), "{\"B\":\"x, \\\"y\\\"\",\"A\":1}\n");
    place.ends(folder.path(), &["export", &database, "t", "x.csv"], 0);
    let exists = place.ends(folder.path(), &["export", &database, "t", "x.csv"], 2);
    assert!(exists.contains("--replace"), "{exists}");
}

const PEOPLE: &str = "id,name,n\n1,Ana,1.5\n2,\"Bob, B\",x\n3,Carl,2.25\n3,Dora,3\n5,,4\n6,Eve,5\n7,Fay\n";

#[test]
fn refused_rows_are_told_with_their_lines_and_left_out_if_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("people.csv"), PEOPLE).unwrap();
    for place in places(folder) {
        let database = place.database("people.fdb");
        let create = "create table people (id int primary key, name varchar(10) not null, n numeric(9, 1));";
        place.sql(folder, "people.fdb", "csv", create);
        let import = ["import", &database, "people", "people.csv"];
        let count = || place.sql(folder, "people.fdb", "csv", "select count(*) from people");

        let stopped = place.ends(folder, &import, 2);
        assert!(stopped.contains("line 3: column N: "), "{stopped}");
        assert!(stopped.contains("no row was imported"), "{stopped}");
        assert_eq!(count(), "COUNT\n0\n");

        let skip = ["--on-error", "skip", "--rejects", "rejects.csv"];
        let skipped = place.ends(folder, &[&import[..], &skip].concat(), 1);
        for line in
            ["line 3: ", "line 5: ", "line 6: ", "line 8: 2 fields instead of 3", "3 rows", "4 refused"]
        {
            assert!(skipped.contains(line), "{line}: {skipped}");
        }
        let rejects = fs::read_to_string(folder.join("rejects.csv")).unwrap();
        let mut rejects: Vec<&str> = rejects.lines().collect();
        rejects[1..].sort_unstable();
        assert_eq!(rejects, ["\"id\",\"name\",\"n\"", "2,\"Bob, B\",x", "3,Dora,3", "5,,4", "7,Fay"]);
        assert_eq!(
            place.sql(folder, "people.fdb", "csv", "select * from people order by id"),
            "ID,NAME,N\n1,Ana,1.5\n3,Carl,2.3\n6,Eve,5.0\n"
        );
    }
}

#[test]
fn an_import_that_ended_early_goes_on_where_it_was_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let rows: String = (1..=25).map(|id| format!("{id},name {id}\n")).collect();
    fs::write(folder.join("good.csv"), format!("id,name\n{rows}")).unwrap();
    fs::write(folder.join("bad.csv"), format!("id,name\n{}", rows.replace("23,", "x,"))).unwrap();
    for place in places(folder) {
        let database = place.database("resume.fdb");
        place.sql(folder, "resume.fdb", "csv", "create table t (id int primary key, name varchar(10));");
        let every = ["--commit-every", "10"];
        let stopped = place.ends(folder, &[&["import", &database, "t", "bad.csv"][..], &every].concat(), 2);
        assert!(stopped.contains("line 24: column ID"), "{stopped}");
        assert!(stopped.contains("20 rows are committed; --skip 20 goes on behind them"), "{stopped}");
        let go_on = ["import", &database, "t", "good.csv", "--skip", "20"];
        place.ends(folder, &[&go_on[..], &every].concat(), 0);
        let found = place.sql(folder, "resume.fdb", "csv", "select count(*), sum(id) from t");
        assert_eq!(found, "COUNT,SUM\n25,325\n");
    }
}

#[test]
fn a_table_is_made_with_types_that_all_values_have() {
    let folder = tempfile::tempdir().unwrap();
    let place = serve(folder.path());
    let text = "id;price;\"day\";note;code\n1;1.25;2024-01-31;hi;007\n2;-10;2024-02-29;;010\n";
    fs::write(folder.path().join("in.csv"), text).unwrap();
    place.sql(folder.path(), "made.fdb", "csv", "create table other (a int);");
    let database = place.database("made.fdb");
    let import = ["import", &database, "made", "in.csv", "--create-table", "--delimiter", ";"];
    let told = place.ends(folder.path(), &import, 0);
    assert!(told.contains("\"PRICE\" NUMERIC(18, 2), \"DAY\" DATE"), "{told}");
    assert_eq!(
        place.sql(folder.path(), "made.fdb", "csv", "select * from made order by id"),
        "ID,PRICE,DAY,NOTE,CODE\n1,1.25,2024-01-31,hi,007\n2,-10.00,2024-02-29,,010\n"
    );
    let unknown = place.ends(folder.path(), &["import", &database, "other", "in.csv", "--delimiter", ";"], 2);
    assert!(unknown.contains("OTHER has no column \"id\"; it has A"), "{unknown}");
}

#[test]
fn files_in_other_character_sets_and_without_header_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let place = serve(folder.path());
    // In windows-1250: žluť.
    fs::write(folder.path().join("in.txt"), b"1|\x9Elu\x9D\n").unwrap();
    place.sql(folder.path(), "set.fdb", "csv", "create table t (name varchar(10), id int);");
    let database = place.database("set.fdb");
    let how = ["--no-header", "--columns", "id,name", "--delimiter", "|", "--encoding", "WIN1250"];
    place.ends(folder.path(), &[&["import", &database, "t", "in.txt"][..], &how].concat(), 0);
    assert_eq!(place.sql(folder.path(), "set.fdb", "csv", "select * from t"), "NAME,ID\nžluť,1\n");
    let back = ["export", &database, "t", "-", "--format", "csv", "--no-header", "--encoding", "WIN1250"];
    assert_eq!(place.run(folder.path(), &back).stdout, b"\x9Elu\x9D,1\n");
}
