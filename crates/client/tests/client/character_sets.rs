//! Connections in other character sets than UTF8.

use farbird_client::blocking::Connection;
use farbird_client::types::{CharacterSet, Text};
use farbird_client::{ConnectOptions, MessageType, Value, isc};

use crate::servers::{all, begin, run, value};

const TABLE: &str = "create table t (id integer, u varchar(20) character set utf8, w varchar(20) character set win1252, \
                     n varchar(20) character set none, o varchar(20) character set octets, \
                     c char(5) character set utf8, b blob sub_type text character set utf8)";

#[test]
fn texts_go_and_come_in_the_connections_character_set() {
    for place in all() {
        for name in ["WIN1252", "WIN1250", "ISO8859_1", "UTF8", "NONE", "latin1"] {
            let location = place.location();
            let utf8 = place.create_at(&location);
            run(&utf8, &[TABLE]);
            let options = ConnectOptions { character_set: name.to_owned(), ..place.options.clone() };
            let connection = Connection::attach(&location, &options).unwrap();
            let set = connection.character_set();
            assert_eq!(set, CharacterSet::by_name(name).unwrap());
            let told = "select cast(c.rdb$character_set_name as varchar(20) character set ascii) \
                        from mon$attachments a \
                        join rdb$character_sets c on c.rdb$character_set_id = a.mon$character_set_id \
                        where a.mon$attachment_id = current_connection";
            match value(&connection, told) {
                Value::Text(told) => assert_eq!(told.decode().unwrap().trim(), set.name()),
                other => panic!("{other:?}"),
            }

            let transaction = begin(&connection);
            let insert =
                connection.prepare(&transaction, "insert into t values (1, ?, ?, ?, ?, ?, ?)").unwrap();
            let blob = connection.write_text(&transaction, "Größe").unwrap();
            let bytes: &[u8] = &[0xFF, 0x00, 0x80];
            let parameters: &[&dyn farbird_client::ToValue] =
                &[&"Größe", &"Größe", &"Größe", &bytes, &"für", &blob];
            connection.execute(&transaction, &insert, parameters).unwrap();
            connection.commit(transaction).unwrap();

            // The other side sees the same text.
            if name != "NONE" {
                let seen = "select u || w || trim(c) || cast(b as varchar(20)) from t";
                assert_eq!(value(&utf8, seen), Value::text("GrößeGrößefürGröße"), "{name}");
            }
            let transaction = begin(&connection);
            let select = connection.prepare(&transaction, "select u, w, n, o, c, b from t").unwrap();
            let rows: Vec<_> =
                connection.query(&transaction, &select, ()).unwrap().collect::<Result<_, _>>().unwrap();
            for column in 0..3 {
                assert_eq!(rows[0].get::<String>(column).unwrap(), "Größe", "{name} {column}");
            }
            assert_eq!(rows[0].get::<Vec<u8>>(3).unwrap(), bytes);
            assert_eq!(rows[0].get::<String>(4).unwrap(), "für  ", "{name}");
            let id = rows[0].get(5).unwrap();
            assert_eq!(connection.read_text(&transaction, id).unwrap(), "Größe", "{name}");
            drop((select, rows));
            connection.commit(transaction).unwrap();
            connection.close().unwrap();
            utf8.drop_database().unwrap();
        }
    }
}

#[test]
fn statements_names_and_messages_are_in_it_too() {
    for place in all() {
        let location = place.location();
        let utf8 = place.create_at(&location);
        let options = ConnectOptions { character_set: "WIN1252".to_owned(), ..place.options.clone() };
        let connection = Connection::attach(&location, &options).unwrap();
        run(
            &connection,
            &["create table \"Maße\" (\"Größe\" integer, \"Länge\" varchar(10) character set utf8)"],
        );
        run(&connection, &["insert into \"Maße\" values (1, 'Tür €')"]);
        let transaction = begin(&connection);
        let select =
            connection.prepare(&transaction, "select * from \"Maße\" where \"Länge\" = 'Tür €'").unwrap();
        let names: Vec<_> = select.columns().iter().map(|column| column.label.as_str()).collect();
        assert_eq!(names, ["Größe", "Länge"]);
        assert_eq!(select.columns()[0].relation, "Maße");
        let rows: Vec<_> = connection.query(&transaction, &select, ()).unwrap().map(Result::unwrap).collect();
        let text = Text::encode("Tür €", CharacterSet::WIN1252).unwrap();
        assert_eq!(rows[0].value("Länge").unwrap(), Value::Text(text));
        let plan = connection.plan(&select).unwrap();
        assert!(plan.contains("Maße"), "{plan}");
        let error = connection.prepare(&transaction, "select * from \"Füße\"").unwrap_err();
        assert!(error.to_string().contains("Füße"), "{error}");
        drop((select, rows, transaction));
        connection.close().unwrap();
        assert_eq!(value(&utf8, "select \"Länge\" from \"Maße\""), Value::text("Tür €"));
        utf8.drop_database().unwrap();
    }
}

#[test]
fn what_is_not_described_is_in_it_too() {
    for place in all() {
        let location = place.location();
        let utf8 = place.create_at(&location);
        run(&utf8, &["create table t (u varchar(20) character set utf8, n varchar(20) character set none)"]);
        let options = ConnectOptions { character_set: "WIN1252".to_owned(), ..place.options.clone() };
        let connection = Connection::attach(&location, &options).unwrap();
        let transaction = begin(&connection);
        let insert = connection.prepare_deferred(&transaction, "insert into t values (?, ?)").unwrap();
        connection.execute(&transaction, &insert, ("Größe", "Größe")).unwrap();
        let text = "select u, n from t where n = ? and u = ?";
        let columns = [MessageType::Varying { length: 40, charset: None }; 2];
        let rows = connection.query_typed(&transaction, text, ("Größe", "Größe"), &columns).unwrap();
        let rows: Vec<(String, String)> = rows.map(|row| row.unwrap().convert().unwrap()).collect();
        assert_eq!(rows, [("Größe".to_owned(), "Größe".to_owned())]);
        let rows: Vec<(String, String)> =
            connection.query_all_as(&transaction, text, ("Größe", "Größe")).unwrap();
        assert_eq!(rows.len(), 1);
        drop(insert);
        connection.commit(transaction).unwrap();
        connection.close().unwrap();
        let bytes = value(&utf8, "select cast(n as varchar(20) character set octets) from t");
        assert_eq!(bytes, Value::Text(Text::new(b"Gr\xF6\xDFe".as_slice(), CharacterSet::OCTETS)));
        utf8.drop_database().unwrap();
    }
}

#[test]
fn what_has_no_place_in_it_is_an_error() {
    for place in all() {
        let location = place.location();
        let utf8 = place.create_at(&location);
        run(&utf8, &["create table t (u varchar(20) character set utf8)", "insert into t values ('Жук')"]);
        let options = ConnectOptions { character_set: "WIN1252".to_owned(), ..place.options.clone() };
        let connection = Connection::attach(&location, &options).unwrap();
        let transaction = begin(&connection);
        // Its text, a parameter, a BLOB: told on this side.
        let error = connection.prepare(&transaction, "select 'Жук' from rdb$database").unwrap_err();
        assert!(error.has(isc::TRANSLITERATION_FAILED), "{error}");
        let insert = connection.prepare(&transaction, "insert into t values (?)").unwrap();
        let error = connection.execute(&transaction, &insert, ("Жук",)).unwrap_err();
        assert!(error.has(isc::TRANSLITERATION_FAILED), "{error}");
        let error = connection.write_text(&transaction, "Жук").unwrap_err();
        assert!(error.has(isc::TRANSLITERATION_FAILED), "{error}");
        // What comes is told by the server.
        let error = connection.query_all(&transaction, "select u from t").unwrap_err();
        assert!(error.has(isc::TRANSLITERATION_FAILED), "{error}");
        // And the connection goes on.
        assert_eq!(connection.execute(&transaction, &insert, ("Käfer",)).unwrap(), None);
        connection.commit(transaction).unwrap();
        drop(insert);
        connection.close().unwrap();
        let unknown = ConnectOptions { character_set: "KLINGON".to_owned(), ..place.options.clone() };
        let error = Connection::attach(&location, &unknown).unwrap_err();
        assert!(error.has(isc::CHARSET_NOT_FOUND), "{error}");
        utf8.drop_database().unwrap();
    }
}
