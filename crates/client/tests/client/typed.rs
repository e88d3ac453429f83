//! Rows and parameters in the program's types.

use std::borrow::Cow;

use farbird_client::blocking::Connection;
use farbird_client::{
    BlobId, FromRow, FromValue, Mismatch, ProtocolVersion, Result, Row, ToValue, Value, WireValue,
};
use farbird_types::decimal::Decimal;
use farbird_types::temporal::{TimeTz, TimestampTz};
use farbird_types::{Date, Error, Time, Timestamp, isc};

use crate::servers::{all, begin, run};

/// The one row of a query.
fn row(connection: &mut Connection, columns: &str) -> Row {
    let transaction = begin(connection);
    let statement = connection.prepare(&transaction, &format!("select {columns} from rdb$database")).unwrap();
    let row = connection.query(&transaction, &statement, ()).unwrap().next().unwrap().unwrap();
    connection.commit(transaction).unwrap();
    row
}

/// What a refusal tells: its code, and its words.
fn refusal<T>(result: Result<T>) -> (u32, String) {
    let Err(error) = result else { panic!("there is no refusal") };
    (error.gds_code(), error.to_string())
}

#[test]
fn numbers_become_whatever_holds_them() {
    for place in all() {
        let mut connection = place.create();
        let row = row(
            &mut connection,
            "cast(-7 as smallint) s, cast(70000 as integer) i, cast(5000000000 as bigint) b, \
             cast(12.34 as numeric(9, 2)) n, cast(-0.001 as numeric(18, 3)) m, cast(1.5 as float) f, \
             cast(0.1 as double precision) d, cast(null as integer) nothing, (1 = 1) truth, cast(200 as integer) u",
        );
        assert_eq!(row.convert::<(i8, u32, i64)>().unwrap_err().gds_code(), isc::DSQL_SQLDA_ERR);
        assert_eq!((row.get::<i8>(0), row.get::<i16>(0), row.get::<i128>(0)), (Ok(-7), Ok(-7), Ok(-7)));
        assert_eq!(
            (row.get::<i32>("i"), row.get::<u64>("I"), row.get::<usize>(1)),
            (Ok(70_000), Ok(70_000), Ok(70_000))
        );
        assert_eq!((row.get::<i64>("B"), row.get::<f64>("B")), (Ok(5_000_000_000), Ok(5e9)));
        assert_eq!(row.get::<Decimal>("N").unwrap().to_string(), "12.34");
        assert_eq!((row.get::<f64>("N"), row.get::<f64>("M")), (Ok(12.34), Ok(-0.001)));
        assert_eq!(
            (row.get::<f32>("F"), row.get::<f64>("F"), row.get::<f64>("D")),
            (Ok(1.5), Ok(1.5), Ok(0.1))
        );
        assert_eq!(
            (row.get::<Option<i32>>("NOTHING"), row.get::<Option<i32>>("I")),
            (Ok(None), Ok(Some(70_000)))
        );
        assert_eq!((row.get::<bool>("TRUTH"), row.get::<u8>("U")), (Ok(true), Ok(200)));
        assert_eq!(row.value("N").unwrap(), Value::Integer { unscaled: 1234, scale: -2 });
        assert!(row.is_null("NOTHING") && !row.is_null("I") && !row.is_null("NEVER"));

        for refused in
            [refusal(row.get::<u8>("S")), refusal(row.get::<i16>("I")), refusal(row.get::<i32>("B"))]
        {
            assert_eq!(refused.0, isc::ARITH_EXCEPT, "{}", refused.1);
        }
        assert!(
            refusal(row.get::<i32>("B"))
                .1
                .contains("column B is BIGINT, with a number that i32 does not hold")
        );
        for refused in
            [refusal(row.get::<i64>("N")), refusal(row.get::<bool>("I")), refusal(row.get::<f32>("D"))]
        {
            assert_eq!(refused.0, isc::CONVERT_ERROR, "{}", refused.1);
        }
        assert!(refusal(row.get::<String>("N")).1.contains("column N is NUMERIC(9, 2), wanted as String"));
        let (code, words) = refusal(row.get::<i32>("NOTHING"));
        assert_eq!(code, isc::CONVERT_ERROR);
        assert!(words.contains("column NOTHING is NULL, which i32 has no place for"), "{words}");
        for missing in [refusal(row.get::<i32>("NEVER")), refusal(row.get::<i32>(99))] {
            assert_eq!(missing.0, isc::DSQL_ERROR);
        }
        connection.drop_database().unwrap();
    }
}

#[test]
fn texts_come_in_unicode_and_as_long_as_they_were_declared() {
    for place in all() {
        let connection = place.create();
        run(
            &connection,
            &["create table t (v varchar(10) character set win1252, c char(5) character set utf8, \
               o char(4) character set octets, n varchar(5) character set none)"],
        );
        let transaction = begin(&connection);
        let insert = connection.prepare(&transaction, "insert into t values (?, ?, ?, ?)").unwrap();
        let raw = [0xFF, 0, 1, 2];
        connection.execute(&transaction, &insert, ("Grüße", "Zoë", raw, "abc")).unwrap();
        let query = connection.prepare(&transaction, "select v, c, o, n from t").unwrap();
        let mut rows = connection.query(&transaction, &query, &[]).unwrap();
        let row = rows.next().unwrap().unwrap();
        assert!(rows.next().is_none());
        assert_eq!(row.get::<&str>("V").unwrap(), "Grüße");
        assert_eq!(row.get::<String>("C").unwrap(), "Zoë  ");
        assert_eq!(row.value("C").unwrap(), Value::text("Zoë  "));
        assert_eq!(row.get::<Cow<'_, str>>("N").unwrap(), "abc");
        assert_eq!(
            (row.get::<Vec<u8>>("O").unwrap(), row.get::<&[u8]>("O").unwrap()),
            (raw.to_vec(), &raw[..])
        );
        assert_eq!(refusal(row.get::<&str>("O")).0, isc::MALFORMED_STRING);
        drop((rows, row, query, insert, transaction));
        connection.drop_database().unwrap();
    }
}

#[test]
fn dates_and_blobs_keep_their_types() {
    for place in all() {
        let mut connection = place.create();
        let found = row(
            &mut connection,
            "date '2024-02-29' d, time '12:34:56.7891' t, timestamp '1901-01-01 00:00:00' ts, \
             cast('some text' as blob sub_type text) b, rdb$relation_id r",
        );
        assert_eq!(found.get::<Date>("D").unwrap(), Date::from_year_month_day(2024, 2, 29).unwrap());
        assert_eq!(found.get::<Time>("T").unwrap(), Time::from_parts(12, 34, 56, 7891).unwrap());
        assert_eq!(found.get::<Timestamp>("TS").unwrap().date.year_month_day(), (1901, 1, 1));
        assert_ne!(found.get::<BlobId>("B").unwrap(), BlobId(0));
        assert_eq!(refusal(found.get::<Timestamp>("D")).0, isc::CONVERT_ERROR);
        if connection.version() >= ProtocolVersion::V16 {
            let found = row(
                &mut connection,
                "cast(12345678901234567890123456789012345678 as int128) i, \
                 cast(-1.5 as numeric(38, 1)) n, cast(1.25 as decfloat(16)) d, cast(1e-40 as decfloat(34)) dd, \
                 timestamp '2024-07-01 12:00 Europe/Berlin' ts, time '10:00 +02:00' t",
            );
            assert_eq!(found.get::<i128>("I").unwrap(), 12_345_678_901_234_567_890_123_456_789_012_345_678);
            assert_eq!(found.get::<Decimal>("N").unwrap().to_string(), "-1.5");
            assert_eq!(found.get::<Decimal>("D").unwrap().to_string(), "1.25");
            assert_eq!(found.get::<Decimal>("DD").unwrap().to_string(), "1E-40");
            assert_eq!(
                found.get::<TimestampTz>("TS").unwrap().utc.time,
                Time::from_parts(10, 0, 0, 0).unwrap()
            );
            assert_eq!(found.get::<TimeTz>("T").unwrap().utc, Time::from_parts(8, 0, 0, 0).unwrap());
            assert_eq!(refusal(found.get::<i64>("I")).0, isc::ARITH_EXCEPT);
        }
        connection.drop_database().unwrap();
    }
}

/// A number with a unit.
#[derive(Debug, PartialEq)]
struct Grams(i64);

impl FromValue<'_> for Grams {
    fn from_value(value: WireValue<'_>) -> std::result::Result<Grams, Mismatch> {
        i64::from_value(value).map(Grams)
    }
}

impl ToValue for Grams {
    fn to_value(&self) -> Value {
        self.0.to_value()
    }
}

#[derive(Debug, PartialEq, FromRow)]
struct Fruit {
    id: i32,
    #[farbird(rename = "LABEL")]
    name: String,
    weight: Option<Grams>,
    #[farbird(default)]
    stock: i64,
    #[farbird(skip)]
    seen: bool,
}

#[derive(Debug, PartialEq, FromRow)]
struct Borrowed<'r> {
    label: &'r str,
}

#[derive(Debug, PartialEq, FromRow)]
struct Both<T> {
    id: T,
    #[farbird(flatten)]
    fruit: Fruit,
}

#[derive(Debug, PartialEq, FromRow)]
struct ByPlace(i64, String);

#[derive(Debug, PartialEq, FromRow)]
#[farbird(prefix = "f_")]
struct Prefixed {
    id: i64,
}

#[test]
fn rows_become_tuples_and_structs() {
    for place in all() {
        let connection = place.create();
        run(
            &connection,
            &["create table fruit (id integer not null, label varchar(20), weight integer, stock bigint)"],
        );
        let transaction = begin(&connection);
        let insert = connection.prepare(&transaction, "insert into fruit values (?, ?, ?, ?)").unwrap();
        connection.execute(&transaction, &insert, (1, "apple", Grams(150), 7_u64)).unwrap();
        let parameters: &[&dyn ToValue] = &[&2_i8, &String::from("fig"), &None::<Grams>, &None::<i32>];
        connection.execute(&transaction, &insert, parameters).unwrap();
        let mut pipeline = connection.pipeline(&transaction, &insert);
        pipeline.execute((3, "plum", Some(20.0), 0)).unwrap();
        assert_eq!(pipeline.finish().unwrap().executed, 1);

        let all = "select id, label, weight, stock from fruit where id < ? order by id";
        let all = connection.prepare(&transaction, all).unwrap();
        let apple = || Fruit { id: 1, name: "apple".into(), weight: Some(Grams(150)), stock: 7, seen: false };
        let fig = Fruit { id: 2, name: "fig".into(), weight: None, stock: 0, seen: false };
        let fruits: Vec<Fruit> = connection.query_as(&transaction, &all, (3,)).unwrap();
        assert_eq!(fruits, [apple(), fig]);
        let tuples: Vec<(i64, String, Option<i32>, Option<i64>)> =
            connection.query_as(&transaction, &all, (2,)).unwrap();
        assert_eq!(tuples, [(1, "apple".to_owned(), Some(150), Some(7))]);
        let row =
            connection.query(&transaction, &all, &[Value::integer(2)]).unwrap().next().unwrap().unwrap();
        assert_eq!(row.convert::<Borrowed<'_>>().unwrap(), Borrowed { label: "apple" });
        assert_eq!(row.convert::<Both<u8>>().unwrap(), Both { id: 1, fruit: apple() });
        assert_eq!(row.convert::<ByPlace>().unwrap(), ByPlace(1, "apple".to_owned()));
        let prefixed = connection.prepare(&transaction, "select id f_id from fruit where id = 3").unwrap();
        let prefixed: Vec<Prefixed> = connection.query_as(&transaction, &prefixed, ()).unwrap();
        assert_eq!(prefixed, [Prefixed { id: 3 }]);

        let error: Error = connection.query_as::<(i32, i32, i32, i32)>(&transaction, &all, (9,)).unwrap_err();
        assert!(error.to_string().contains("column LABEL is VARCHAR(20), wanted as i32"), "{error}");
        drop((row, all, insert, transaction));
        connection.drop_database().unwrap();
    }
}

#[test]
fn many_rows_are_the_rows_and_are_counted_one_by_one() {
    for place in all() {
        let connection = place.create();
        let transaction = begin(&connection);
        let numbers = "with recursive n as (select 0 as i from rdb$database union all select i + 1 from n where i < 999)
            select a.i * 1000 + b.i, iif(mod(b.i, 3) = 0, null, b.i), 'row ' || b.i from n a, n b where a.i < 5 order by 1";
        let statement = connection.prepare(&transaction, numbers).unwrap();
        let before = connection.counters().in_packets;
        let mut count = 0_i64;
        for row in connection.query(&transaction, &statement, ()).unwrap() {
            let row = row.unwrap();
            // From behind to the front and back: rows are walked in any order.
            let text: String = row.get(2).unwrap();
            assert_eq!(text, format!("row {}", count % 1000));
            assert_eq!(row.get::<i64>(0).unwrap(), count);
            assert_eq!(
                row.get::<Option<i64>>(1).unwrap(),
                Some(count % 1000).filter(|number| number % 3 != 0)
            );
            assert_eq!(row.clone().get::<&str>(2).unwrap(), text);
            count += 1;
        }
        assert_eq!(count, 5_000);
        assert!(connection.counters().in_packets - before >= 5_000);
        drop((statement, transaction));
        connection.drop_database().unwrap();
    }
}
