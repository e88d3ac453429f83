//! The statistics of the wire, as information calls tell them.

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
