//! The statistics of the wire, and of rows and pages, as information calls tell them.

use farbird_types::Value;
use farbird_wire::info::{InfoReader, database};
use farbird_wire::packet::Request;
use farbird_wire::protocol::Handle;

use crate::common::{Client, Login, TestServer};

/// The server's nine counts, from out packets (150) to round trips (158).
fn counts(client: &mut Client) -> Vec<u64> {
    let items: Vec<u8> = (database::WIRE_OUT_PACKETS..=database::WIRE_ROUNDTRIPS).collect();
    let information = client.information(Handle::NONE, &items);
    let response = client.ask(Request::DatabaseInformation(information)).unwrap();
    InfoReader::new(&response.data).map(|item| item.unwrap().integer().unwrap() as u64).collect()
}

#[test]
fn both_sides_count_the_same() {
    let server = TestServer::start();
    let _owner = server.create("t.fbd");
    for compress in [false, true] {
        let mut client = Client::log_in(server.address, &Login { compress, ..Login::default() }).unwrap();
        client.attach("t.fbd", &[]).unwrap();
        client.query("SELECT RDB$FIELD_NAME FROM RDB$FIELDS");
        let mine = client.counters;
        let its = counts(&mut client);
        // The server has read the question, and not yet counted its answer.
        assert_eq!((its[0], its[1]), (mine.in_packets, mine.out_packets + 1), "packets");
        assert_eq!(its[2], mine.in_bytes, "bytes");
        assert_eq!(its[6], mine.receive_bytes, "bytes on the socket");
        assert!(its[3] > mine.out_bytes && its[7] > mine.send_bytes);
        assert_eq!(compress, its[6] < its[2], "compression shows in what was sent");
        let later = counts(&mut client);
        // One question, one answer, one round trip.
        assert_eq!((later[0] - its[0], later[1] - its[1], later[8] - its[8]), (1, 1, 1));
    }
}

/// Of an information item about tables: what it tells of one of them.
fn rows_of(client: &mut Client, item: u8, table: u16) -> u32 {
    let information = client.information(Handle::NONE, &[item]);
    let response = client.ask(Request::DatabaseInformation(information)).unwrap();
    let told = InfoReader::new(&response.data).next().unwrap().unwrap();
    assert_eq!(told.item, item);
    let number = |entry: &[u8]| u16::from_le_bytes([entry[0], entry[1]]);
    let found = told.value.chunks(6).find(|entry| number(entry) == table);
    found.map_or(0, |entry| u32::from_le_bytes([entry[2], entry[3], entry[4], entry[5]]))
}

/// Numbers of the whole database.
fn pages(client: &mut Client) -> [u64; 4] {
    let items = [database::READS, database::WRITES, database::FETCHES, database::MARKS];
    let information = client.information(Handle::NONE, &items);
    let response = client.ask(Request::DatabaseInformation(information)).unwrap();
    let mut told = InfoReader::new(&response.data).map(|item| item.unwrap().integer().unwrap() as u64);
    std::array::from_fn(|_| told.next().unwrap())
}

#[test]
fn an_attachment_is_told_what_it_has_done_with_each_table() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)");
    let sql = "SELECT RDB$RELATION_ID FROM RDB$RELATIONS WHERE RDB$RELATION_NAME = 'T'";
    let Value::Integer { unscaled, .. } = client.value(sql) else { panic!("a number") };
    let table = u16::try_from(unscaled).unwrap();
    let before = pages(&mut client);
    client.run(
        "EXECUTE BLOCK AS DECLARE I INTEGER = 0; BEGIN \
         WHILE (I < 100) DO BEGIN INSERT INTO T VALUES (:I, 0); I = I + 1; END END",
    );
    client.query("SELECT ID FROM T WHERE A = 0");
    client.query("SELECT A FROM T WHERE ID = 7");
    client.run("UPDATE T SET A = 1 WHERE ID = 7");
    client.run("DELETE FROM T WHERE ID = 8");
    let transaction = client.start();
    client.run_in(transaction, "DELETE FROM T WHERE ID = 9").unwrap();
    client.rollback(transaction);
    use database::{
        BACKOUT_COUNT, DELETE_COUNT, EXPUNGE_COUNT, INSERT_COUNT, PURGE_COUNT, READ_IDX_COUNT,
        READ_SEQ_COUNT, UPDATE_COUNT,
    };
    for (item, expected) in [
        (READ_SEQ_COUNT, 100),
        (READ_IDX_COUNT, 4),
        (INSERT_COUNT, 100),
        (UPDATE_COUNT, 1),
        (DELETE_COUNT, 2),
        (BACKOUT_COUNT, 1),
        (PURGE_COUNT, 0),
        (EXPUNGE_COUNT, 0),
    ] {
        assert_eq!(rows_of(&mut client, item, table), expected, "item {item}");
    }
    let after = pages(&mut client);
    assert!(after[1] > before[1] && after[2] > before[2] && after[3] > before[3], "{before:?} {after:?}");
    // Another attachment has done nothing with it.
    let mut other = Client::log_in(server.address, &Login::default()).unwrap();
    other.attach("t.fbd", &[]).unwrap();
    assert_eq!(rows_of(&mut other, READ_SEQ_COUNT, table), 0);
    assert!(pages(&mut other)[2] >= after[2], "they are the database's");
}
