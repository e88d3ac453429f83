//! A small working day in every protocol version: create, insert, select, every type, BLOBs.

use farbird_types::decimal::Decimal;
use farbird_types::temporal::{Date, Time, TimeTz, Timestamp, TimestampTz, ZoneId};
use farbird_types::{Value, isc};
use farbird_wire::auth::AuthPlugin;
use farbird_wire::protocol::ProtocolVersion;

use crate::common::{Client, Login, TestServer};

const TYPES: &str = "ID INTEGER NOT NULL PRIMARY KEY, S SMALLINT, B BIGINT, N NUMERIC(9,2), D18 DECIMAL(18,4),
    F FLOAT, D DOUBLE PRECISION, C CHAR(5), V VARCHAR(20), O VARCHAR(4) CHARACTER SET OCTETS, DA DATE, TI TIME,
    TS TIMESTAMP, BB BLOB SUB_TYPE BINARY, BT BLOB SUB_TYPE TEXT";
/// What protocol 13 brought, and Firebird 4 over it.
const NEW_TYPES: &str = ", BO BOOLEAN, I128 INT128, N38 NUMERIC(38,3), D16 DECFLOAT(16), D34 DECFLOAT(34),
    TITZ TIME WITH TIME ZONE, TSTZ TIMESTAMP WITH TIME ZONE";

fn exact(unscaled: i64, scale: i8) -> Value {
    Value::Integer { unscaled, scale }
}

fn date() -> Date {
    Date::from_year_month_day(1999, 12, 31).unwrap()
}

fn time() -> Time {
    Time::from_parts(23, 59, 59, 9999).unwrap()
}

fn row(client: &mut Client, transaction: farbird_wire::protocol::Handle, new: bool) -> Vec<Value> {
    let timestamp = Timestamp { date: date(), time: time() };
    let mut values = vec![
        Value::integer(1),
        Value::integer(-32768),
        Value::integer(i64::MIN),
        exact(-12345, -2),
        exact(999_999_999_999_999_999, -4),
        Value::Float(1.5),
        Value::Double(-1e300),
        // Five characters may take twenty bytes, and spaces fill them.
        Value::text("ab                  "),
        Value::text("grüß 漢字"),
        Value::Text(farbird_types::Text::new(vec![0, 255, 1], farbird_types::CharacterSet::OCTETS)),
        Value::Date(date()),
        Value::Time(time()),
        Value::Timestamp(timestamp),
        Value::Blob(client.write_blob(transaction, &[0, 1, 255], 2)),
        Value::Blob(client.write_blob(transaction, "Ähre".as_bytes(), 10)),
    ];
    if new {
        let zone = ZoneId::parse("Europe/Berlin").unwrap();
        values.extend([
            Value::Boolean(true),
            Value::Int128 { unscaled: i128::MIN, scale: 0 },
            Value::Int128 { unscaled: i128::MAX, scale: -3 },
            Value::DecFloat(Decimal::from_parts(true, 1234, -2).unwrap()),
            Value::DecFloat(Decimal::from_parts(false, 1, -6000).unwrap()),
            Value::TimeTz(TimeTz { utc: time(), zone }),
            Value::TimestampTz(TimestampTz { utc: timestamp, zone }),
        ]);
    }
    values
}

#[test]
fn a_working_day_in_every_protocol_version() {
    let server = TestServer::with(|config| config.authentication = AuthPlugin::ALL.to_vec());
    for number in 10..=19 {
        let version = ProtocolVersion::new(number).unwrap();
        let login = Login { oldest: version, newest: version, ..Login::default() };
        let mut client = Client::log_in(server.address, &login).unwrap();
        assert_eq!(client.version(), version);
        client.create(&format!("day{number}.fbd"), &[]).unwrap();
        working_day(&mut client, version.has_statement_timeout());
    }
    // Who can do more is taken at Firebird 5's newest: with 20 drivers would ask for schemas.
    let login = Login { newest: ProtocolVersion::V20, ..Login::default() };
    assert_eq!(Client::log_in(server.address, &login).unwrap().version(), ProtocolVersion::V19);
}

fn working_day(client: &mut Client, new: bool) {
    let version = client.version();
    client.run(&format!("CREATE TABLE T ({TYPES}{})", if new { NEW_TYPES } else { "" }));
    let transaction = client.start();
    let values = row(client, transaction, new);
    let marks = vec!["?"; values.len()].join(", ");
    let insert = client.prepare(transaction, &format!("INSERT INTO T VALUES ({marks})")).unwrap();
    client.execute(transaction, &insert, &values).unwrap();
    let mut nulls = vec![Value::Null; values.len()];
    nulls[0] = Value::integer(2);
    client.execute(transaction, &insert, &nulls).unwrap();
    let error = client.execute(transaction, &insert, &nulls).unwrap_err();
    assert!(error.has(isc::UNIQUE_KEY_VIOLATION), "{version:?}: {error}");
    client.drop_statement(&insert);
    client.commit(transaction);

    let transaction = client.start();
    let rows = client.query_in(transaction, "SELECT * FROM T ORDER BY ID", &[]).unwrap();
    assert_eq!(rows.len(), 2, "{version:?}");
    assert_eq!(rows[1], nulls, "{version:?}");
    for (index, (given, got)) in values.iter().zip(&rows[0]).enumerate() {
        match got {
            Value::Blob(id) => {
                let wanted: &[u8] = if index == 13 { &[0, 1, 255] } else { "Ähre".as_bytes() };
                assert_eq!(client.read_blob(transaction, *id).unwrap(), wanted, "{version:?}");
            }
            _ => assert_eq!(given, got, "{version:?}, column {index}"),
        }
    }
    let by_value =
        client.query_in(transaction, "SELECT COUNT(*) FROM T WHERE V = ?", &[values[8].clone()]).unwrap();
    assert_eq!(by_value, [[Value::integer(1)]], "{version:?}");
    client.rollback(transaction);
}
