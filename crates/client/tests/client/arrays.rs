//! Arrays, of every element type, whole and in slices.

use farbird_client::blocking::Connection;
use farbird_client::types::{CharacterSet, Date, Text, Time, TimeTz, Timestamp, TimestampTz, ZoneId};
use farbird_client::{Array, BlobId, Transaction, Value, isc};

use crate::servers::{TestServer, all, begin, run};

/// A new database with this table.
fn with_table(place: &TestServer, table: &str) -> Connection {
    let connection = place.create();
    run(&connection, &[table]);
    connection
}

fn insert(connection: &Connection, transaction: &Transaction, id: BlobId) {
    let insert = connection.prepare(transaction, "insert into t (a) values (?)").unwrap();
    connection.execute(transaction, &insert, (id,)).unwrap();
}

/// The array of the last row.
fn stored(connection: &Connection, transaction: &Transaction) -> BlobId {
    let rows = connection.query_all(transaction, "select a from t order by id desc rows 1").unwrap();
    match rows[0][0] {
        Value::Blob(id) => id,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn every_type_of_element_comes_back_as_it_went() {
    let decimal = |unscaled, scale| Value::Integer { unscaled, scale };
    let stamp = Timestamp { date: Date(58_849), time: Time(863_999_999) };
    let bytes = |bytes: &[u8], set| Value::Text(Text::new(bytes, set));
    let old: &[(&str, [Value; 2])] = &[
        ("smallint", [Value::integer(-32_768), Value::integer(32_767)]),
        ("integer", [Value::integer(-7), Value::integer(i64::from(i32::MAX))]),
        ("bigint", [Value::integer(i64::MIN), Value::integer(i64::MAX)]),
        ("numeric(4, 2)", [decimal(-1234, -2), decimal(1, -2)]),
        ("numeric(9, 3)", [decimal(123_456_789, -3), decimal(0, -3)]),
        ("decimal(18, 6)", [decimal(-1, -6), decimal(999_999_999_999, -6)]),
        ("float", [Value::Float(1.5), Value::Float(-0.25)]),
        ("double precision", [Value::Double(1e300), Value::Double(-0.1)]),
        ("date", [Value::Date(Date(-3)), Value::Date(Date(58_849))]),
        ("time", [Value::Time(Time(0)), Value::Time(Time(863_999_999))]),
        ("timestamp", [Value::Timestamp(stamp), Value::Timestamp(stamp)]),
        ("varchar(7)", [Value::text("größte"), Value::text("")]),
        ("varchar(7) character set win1252", [Value::text("größte"), Value::text("€")]),
        ("char(4)", [Value::text("für "), Value::text("    ")]),
        ("char(4) character set win1252", [Value::text("für "), Value::text("€€€€")]),
        (
            "varchar(7) character set none",
            [bytes(b"\xFF\x80", CharacterSet::NONE), bytes(b"", CharacterSet::NONE)],
        ),
        (
            "char(2) character set octets",
            [bytes(b"\xFF\0", CharacterSet::OCTETS), bytes(b"\0\0", CharacterSet::OCTETS)],
        ),
        ("boolean", [Value::Boolean(true), Value::Boolean(false)]),
    ];
    let vienna = ZoneId::parse("Europe/Vienna").unwrap();
    let zoned = |utc| Value::TimestampTz(TimestampTz { utc, zone: vienna });
    let time = |utc| Value::TimeTz(TimeTz { utc: Time(utc), zone: vienna });
    let wide = |unscaled, scale| Value::Int128 { unscaled, scale };
    let decimal_float = |text: &str| Value::DecFloat(text.parse().unwrap());
    // Since Firebird 4.
    let new: &[(&str, [Value; 2])] = &[
        ("int128", [wide(i128::MIN, 0), wide(i128::MAX, 0)]),
        ("numeric(38, 10)", [wide(-1, -10), wide(10_i128.pow(37), -10)]),
        ("decfloat(16)", [decimal_float("-1.5"), decimal_float("1E+300")]),
        ("decfloat(34)", [decimal_float("0.1"), decimal_float("1E-6000")]),
        ("time with time zone", [time(1), time(863_999_999)]),
        ("timestamp with time zone", [zoned(stamp), zoned(stamp)]),
    ];
    for place in all() {
        let connection = with_table(&place, "create table probe (id integer, a integer[2])");
        let types = match connection.version().has_statement_timeout() {
            true => [old, new].concat(),
            false => old.to_vec(),
        };
        let tables = types.iter().enumerate().map(|(number, (kind, _))| element_table(number, kind));
        let tables: Vec<String> = tables.collect();
        run(&connection, &tables.iter().map(String::as_str).collect::<Vec<_>>());
        let transaction = begin(&connection);
        for (number, (kind, elements)) in types.iter().enumerate() {
            let table = format!("T{number}");
            let column = connection.array_column(&transaction, &table, "A").unwrap();
            assert_eq!((column.relation(), column.name()), (table.as_str(), "A"));
            assert_eq!(column.bounds(), [1..=2], "{kind}");
            let array = Array::new([1..=2], elements.clone()).unwrap();
            let id = connection.write_array(&transaction, &column, &array).unwrap();
            let text = format!("insert into {table} values (?)");
            let insert = connection.prepare(&transaction, &text).unwrap();
            connection.execute(&transaction, &insert, (id,)).unwrap();
            let rows = connection.query_all(&transaction, &format!("select a from {table}")).unwrap();
            let Value::Blob(id) = rows[0][0] else { panic!("{kind}: {:?}", rows[0][0]) };
            assert_eq!(connection.read_array(&transaction, &column, id).unwrap(), array, "{kind}");
        }
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

/// A table with an array column of two elements. The array follows the type's name, before its character set.
fn element_table(number: usize, kind: &str) -> String {
    match kind.split_once(" character set ") {
        Some((kind, set)) => format!("create table t{number} (a {kind}[2] character set {set})"),
        None => format!("create table t{number} (a {kind}[2])"),
    }
}

#[test]
fn slices_are_read_and_changed() {
    const TABLE: &str = "create table t (id integer generated by default as identity, a integer[0:1, -1:2])";
    for place in all() {
        let connection = with_table(&place, TABLE);
        let transaction = begin(&connection);
        let column = connection.array_column(&transaction, "T", "A").unwrap();
        assert_eq!(column.bounds(), [0..=1, -1..=2]);
        let whole = Array::new([0..=1, -1..=2], (0..8).map(Value::integer)).unwrap();
        let id = connection.write_array(&transaction, &column, &whole).unwrap();
        insert(&connection, &transaction, id);
        connection.commit(transaction).unwrap();

        let transaction = begin(&connection);
        let id = stored(&connection, &transaction);
        let slice = connection.read_array_slice(&transaction, &column, id, &[1..=1, 0..=1]).unwrap();
        assert_eq!(slice, Array::new([1..=1, 0..=1], [5, 6].map(Value::integer)).unwrap());
        let column_of_it = connection.read_array_slice(&transaction, &column, id, &[0..=1, 2..=2]).unwrap();
        assert_eq!(column_of_it.convert::<i32>().unwrap(), [3, 7]);

        let changes = Array::new([0..=0, 1..=2], [-1, -2].map(Value::integer)).unwrap();
        let changed = connection.write_array_slice(&transaction, &column, id, &changes).unwrap();
        let update = connection.prepare(&transaction, "update t set a = ?").unwrap();
        connection.execute(&transaction, &update, (changed,)).unwrap();
        connection.commit(transaction).unwrap();

        let transaction = begin(&connection);
        let id = stored(&connection, &transaction);
        let read = connection.read_array(&transaction, &column, id).unwrap();
        assert_eq!(read.convert::<i32>().unwrap(), [0, 1, -1, -2, 4, 5, 6, 7]);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn elements_that_were_never_written_are_zeros() {
    const TABLE: &str = "create table t (id integer generated by default as identity, a varchar(5)[4])";
    for place in all() {
        let connection = with_table(&place, TABLE);
        let transaction = begin(&connection);
        let column = connection.array_column(&transaction, "T", "A").unwrap();
        let second = Array::new([2..=2], [Value::text("two")]).unwrap();
        let id = connection.write_array(&transaction, &column, &second).unwrap();
        insert(&connection, &transaction, id);
        let id = stored(&connection, &transaction);
        let read = connection.read_array(&transaction, &column, id).unwrap();
        assert_eq!(read.convert::<String>().unwrap(), ["", "two", "", ""]);
        let last = connection.read_array_slice(&transaction, &column, id, &[3..=4]).unwrap();
        assert_eq!(last.convert::<String>().unwrap(), ["", ""]);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn what_cannot_be_is_refused_and_the_connection_goes_on() {
    const TABLE: &str = "create table t (id integer generated by default as identity, a numeric(9, 2)[3])";
    for place in all() {
        let connection = with_table(&place, TABLE);
        let transaction = begin(&connection);
        let missing = connection.array_column(&transaction, "T", "ID").unwrap_err();
        assert!(missing.has(isc::DSQL_FIELD_ERR) && missing.to_string().contains("T.ID"), "{missing}");
        let column = connection.array_column(&transaction, "T", "A").unwrap();
        let write = |array: &Array| connection.write_array(&transaction, &column, array);
        let error = write(&Array::new([2..=4], [1, 2, 3].map(Value::integer)).unwrap()).unwrap_err();
        assert!(error.has(isc::SS_OUT_OF_BOUNDS), "{error}");
        let error = write(&Array::new([1..=1, 1..=1], [Value::integer(1)]).unwrap()).unwrap_err();
        assert!(error.has(isc::INVALID_DIMENSION), "{error}");
        let error = write(&Array::from(vec![Some(1), None, Some(3)])).unwrap_err();
        assert!(error.to_string().contains("T.A cannot be NULL"), "{error}");
        let error = write(&Array::from(vec!["1.5", "two", "3"])).unwrap_err();
        assert!(error.has(isc::CONVERT_ERROR), "{error}");
        let error = connection.read_array(&transaction, &column, BlobId(0x0000_0080_0000_1234)).unwrap_err();
        assert!(error.gds_code() != isc::NETWORK_ERROR, "{error}");

        // Whatever can be cast is taken.
        let id = write(&Array::from(vec!["1.5", "-2.25", "3"])).unwrap();
        insert(&connection, &transaction, id);
        let id = stored(&connection, &transaction);
        let read = connection.read_array(&transaction, &column, id).unwrap();
        assert_eq!(read.convert::<f64>().unwrap(), [1.5, -2.25, 3.0]);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn many_at_a_time() {
    const TABLE: &str = "create table t (id integer generated by default as identity, a integer[1000])";
    for place in all() {
        let connection = with_table(&place, TABLE);
        let transaction = begin(&connection);
        let column = connection.array_column(&transaction, "T", "A").unwrap();
        let arrays: Vec<Array> =
            (0..200).map(|from| Array::from((from..from + 1000).collect::<Vec<i32>>())).collect();
        let ids = connection.write_arrays(&transaction, &column, &arrays).unwrap();
        let insert = connection.prepare(&transaction, "insert into t (a) values (?)").unwrap();
        let mut pipeline = connection.pipeline(&transaction, &insert);
        for id in &ids {
            pipeline.execute((*id,)).unwrap();
        }
        pipeline.finish().unwrap().into_result().unwrap();
        let rows = connection.query_all(&transaction, "select a from t order by id").unwrap();
        let ids: Vec<BlobId> = rows
            .iter()
            .map(|row| match row[0] {
                Value::Blob(id) => id,
                ref other => panic!("{other:?}"),
            })
            .collect();
        assert!(connection.read_arrays(&transaction, &column, &ids).unwrap() == arrays);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}
