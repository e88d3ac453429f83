//! Tables whose rows are packed differently, in one file.

use farbird::{CodecId, Connection, Database};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const CODECS: [&str; 6] = ["value", "classic", "long-run", "elekt", "column", "elekt+zstd"];

fn fill(connection: &Connection, table: &str, rows: i64) -> farbird::Result<u64> {
    connection.execute(
        &format!(
            "execute block as declare i int = 0; begin
               while (i < {rows}) do
               begin
                 insert into {table} values (:i, mod(:i, 7), 'row number ' || :i, null);
                 i = i + 1;
               end
             end"
        ),
        (),
    )
}

fn checksum(connection: &Connection, table: &str) -> farbird::Result<(i64, i64, i64)> {
    connection.query_one(&format!("select count(*), sum(a * b), sum(char_length(c)) from {table}"), ())
}

const COLUMNS: &str = "(a int, b int, c varchar(2000), d varchar(2000))";

#[test]
fn blocks_of_several_codecs_live_in_one_file() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("codecs.fbd");
    let db = Database::create(&path)?;
    let connection = db.connect()?;
    for (number, codec) in CODECS.iter().enumerate() {
        connection.execute(&format!("create table t{number} {COLUMNS} storage codec '{codec}'"), ())?;
        fill(&connection, &format!("t{number}"), 3_000)?;
    }
    let expected = checksum(&connection, "t0")?;
    // A change of mind: blocks that exist stay, new ones are packed otherwise; changed rows are swept into new ones.
    connection.execute("alter table t0 set storage codec 'column+lz4'", ())?;
    connection.execute("update t0 set b = b where mod(a, 3) = 0", ())?;
    connection.execute("alter table t1 set storage default", ())?;
    connection.execute("update t1 set b = b where mod(a, 3) = 0", ())?;
    db.sweep()?;
    drop((connection, db));

    let db = Database::open(&path)?;
    let connection = db.connect()?;
    for (number, codec) in CODECS.iter().enumerate() {
        assert_eq!(checksum(&connection, &format!("t{number}"))?, expected, "{codec}");
        let row: String = connection.query_one(&format!("select c from t{number} where a = 2999"), ())?;
        assert_eq!(row, "row number 2999");
    }
    let shown: Vec<(Option<String>, String, String)> = connection
        .query("select trim(farbird$relation_name), farbird$codec, farbird$source from farbird$storage", ())?
        .map(|row| {
            let row = row?;
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .collect::<farbird::Result<_>>()?;
    let of = |table: &str| {
        let row = shown.iter().find(|(name, ..)| name.as_deref() == Some(table)).unwrap();
        (row.1.as_str(), row.2.as_str())
    };
    assert_eq!((shown[0].1.as_str(), shown[0].2.as_str()), ("column", "SERVER"));
    assert_eq!(of("T0"), ("column+lz4", "TABLE"));
    assert_eq!(of("T1"), ("column", "SERVER"));
    assert_eq!(of("T3"), ("elekt", "TABLE"));
    Ok(())
}

/// The size of a file with one table of this storage, filled and swept.
fn size(folder: &std::path::Path, storage: &str) -> Result<u64, Box<dyn std::error::Error>> {
    let path = folder.join(format!("{}.fbd", storage.replace(['\'', ' ', '+'], "_")));
    let db = Database::create(&path)?;
    let connection = db.connect()?;
    connection.execute(&format!("create table t {COLUMNS} storage {storage}"), ())?;
    fill(&connection, "t", 20_000)?;
    db.sweep()?;
    drop((connection, db));
    Ok(std::fs::metadata(&path)?.len())
}

#[test]
fn the_codec_shows_on_the_disk() -> Outcome {
    let folder = tempfile::tempdir()?;
    let classic = size(folder.path(), "codec 'classic'")?;
    let column = size(folder.path(), "codec 'column'")?;
    let zstandard = size(folder.path(), "codec 'classic+zstd'")?;
    assert!(column * 2 < classic, "column {column}, classic {classic}");
    assert!(zstandard * 2 < classic, "classic+zstd {zstandard}, classic {classic}");
    Ok(())
}

#[test]
fn a_database_chooses_for_tables_that_do_not() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("default.fbd");
    let codec_of_t = "select farbird$codec || ' ' || farbird$source from farbird$storage
        where farbird$relation_name = 'T'";
    let db = Database::options().codec("value".parse::<CodecId>()?).create(&path)?;
    let connection = db.connect()?;
    connection.execute(&format!("create table t {COLUMNS}"), ())?;
    assert_eq!(connection.query_one::<String>(codec_of_t, ())?, "value SERVER");
    connection.execute("alter database set storage codec 'ELEKT+LZ4'", ())?;
    drop((connection, db));
    let db = Database::open(&path)?;
    let connection = db.connect()?;
    assert_eq!(connection.query_one::<String>(codec_of_t, ())?, "elekt+lz4 DATABASE");
    connection.execute("alter database set storage default", ())?;
    assert_eq!(connection.query_one::<String>(codec_of_t, ())?, "column SERVER");
    Ok(())
}

#[test]
fn only_codecs_that_there_are_and_only_from_those_who_may() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("may.fbd");
    let db = Database::create(&path)?;
    let connection = db.connect()?;
    let error = connection.execute("create table t (a int) storage codec 'zip'", ()).unwrap_err();
    assert!(error.to_string().contains("value, classic, long-run, elekt or column"), "{error}");
    connection.execute("create table t (a int)", ())?;
    let guest = Database::options().user("GUEST").open(&path)?.connect()?;
    for sql in ["alter table t set storage codec 'value'", "alter database set storage codec 'value'"] {
        assert_eq!(guest.execute(sql, ()).unwrap_err().sql_state(), "28000", "{sql}");
    }
    // The words stay names.
    connection.execute("create table storage (codec int, storage int)", ())?;
    connection.execute("insert into storage (storage, codec) values (1, 2)", ())?;
    Ok(())
}
