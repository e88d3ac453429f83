//! Recorded conversations of Firebird's own programs: decoded whole, encoded again to the same bytes, and understood.

#![allow(dead_code, unreachable_pub, reason = "the player is shared between test binaries")]

mod tape;

use farbird_types::{Value, isc};
use farbird_wire::blob_stream::BlobStreamItem;
use farbird_wire::clumplet::{ClumpletReader, dpb};
use farbird_wire::info::{InfoReader, StatementInformation, statement_type};
use farbird_wire::message::{Message, MessageForm, MessageFormat};
use farbird_wire::negotiation::UserIdentification;
use farbird_wire::packet::{Reply, Request};
use farbird_wire::protocol::ProtocolVersion;
use farbird_wire::slice::SliceDescription;
use tape::{NAMES, Packet, Player, Way, load};

fn played(name: &str) -> Player {
    let mut player = Player::new();
    for (number, (way, piece)) in load(name).iter().enumerate() {
        if let Err(error) = player.play(*way, piece) {
            let last = player.packets.last();
            panic!("{name}, piece {number}, after {} packets: {error}\n{last:?}", player.packets.len());
        }
    }
    player
}

fn replies(player: &Player) -> impl Iterator<Item = &Reply> {
    player.packets.iter().filter_map(|packet| match packet {
        Packet::Reply(reply) => Some(reply),
        Packet::Request(_) => None,
    })
}

fn requests(player: &Player) -> impl Iterator<Item = &Request> {
    player.packets.iter().filter_map(|packet| match packet {
        Packet::Request(request) => Some(request),
        Packet::Reply(_) => None,
    })
}

fn first_difference(left: &[u8], right: &[u8]) -> Option<usize> {
    let common = left.iter().zip(right).position(|(left, right)| left != right);
    common.or((left.len() != right.len()).then(|| left.len().min(right.len())))
}

#[test]
fn every_conversation_decodes_whole_and_encodes_to_the_same_bytes() {
    for name in NAMES {
        let player = played(name);
        assert_eq!(player.unread(), 0, "{name}");
        assert_eq!(player.version(), ProtocolVersion::V19, "{name}");
        for way in [Way::ToServer, Way::ToClient] {
            let (plain, encoded) = (&player.plain[way as usize], &player.encoded[way as usize]);
            assert_eq!(first_difference(plain, encoded), None, "{name}, {way:?}");
        }
    }
}

fn messages(packet: &Packet) -> Vec<&Message> {
    match packet {
        Packet::Request(Request::Execute(execute)) => execute.message.iter().collect(),
        Packet::Request(Request::Execute2(execute)) => execute.execute.message.iter().collect(),
        Packet::Request(Request::ExecuteImmediate2(execute)) => execute.message.iter().collect(),
        Packet::Request(
            Request::Send(send) | Request::StartAndSend(send) | Request::StartSendAndReceive(send),
        )
        | Packet::Reply(Reply::Send(send)) => vec![&send.message],
        Packet::Reply(Reply::FetchResponse(fetch)) => fetch.message.iter().collect(),
        Packet::Reply(Reply::SqlResponse(row)) => row.message.iter().collect(),
        _ => Vec::new(),
    }
}

#[test]
fn every_row_becomes_values_and_the_same_bytes_again() {
    let (mut rows, mut request_messages) = (0, 0);
    for name in NAMES {
        for packet in &played(name).packets {
            for message in messages(packet) {
                let format = message.format().clone();
                let again = if message.form() == MessageForm::Packed {
                    rows += 1;
                    Message::new(format, message.form(), &message.values().unwrap()).unwrap()
                } else {
                    request_messages += 1;
                    Message::from_descriptor_values(format, &message.descriptor_values().unwrap()).unwrap()
                };
                assert_eq!(&again, message, "{name}");
            }
            if let Packet::Request(Request::BatchMessages(batch)) = packet {
                let mut again = farbird_wire::message::MessageRun::new(batch.rows.format().clone());
                let (mut reader, mut values) = (batch.rows.rows(), Vec::new());
                while reader.next_row(&mut values).unwrap() {
                    again.push(&values).unwrap();
                    rows += 1;
                }
                assert_eq!(again, batch.rows, "{name}");
            }
        }
    }
    assert!(rows > 1000 && request_messages > 1000, "{rows} rows, {request_messages} messages of requests");
}

#[test]
fn every_format_prints_to_the_blr_it_was_parsed_from() {
    let mut formats = 0;
    for name in NAMES {
        for request in requests(&played(name)) {
            let blr = match request {
                Request::Execute(execute) => &execute.input_blr,
                Request::Execute2(execute) => &execute.output.blr,
                Request::Fetch(fetch) => &fetch.output.blr,
                Request::BatchCreate(batch) => {
                    assert_eq!(batch.format.length(), batch.message_length, "{name}");
                    &batch.blr
                }
                _ => continue,
            };
            if let Some(format) = MessageFormat::parse(blr).unwrap() {
                formats += 1;
                assert_eq!(&format.to_blr(), blr, "{name}");
            }
        }
    }
    assert!(formats > 20);
}

#[test]
fn logins_and_attachments_are_understood() {
    for name in NAMES {
        let player = played(name);
        let mut requests = requests(&player);
        let Some(Request::Connect(connect)) = requests.next() else { panic!("{name} begins otherwise") };
        let user = UserIdentification::parse(&connect.user_identification).unwrap();
        assert_eq!(user.plugin.as_deref(), Some(&b"Srp256"[..]), "{name}");
        // A public key of 1024 bits in hexadecimal, without leading zeros.
        assert!((250..=256).contains(&user.specific_data.as_ref().map_or(0, Vec::len)), "{name}");
        let choice = connect.choose(ProtocolVersion::V19).unwrap();
        assert_eq!((choice.version, choice.connection_type), (ProtocolVersion::V19, 5));
        assert_eq!(choice.compress, name.contains("zlib"));
        for request in requests {
            if let Request::Attach(attach) | Request::Create(attach) = request {
                let tags: Vec<_> =
                    ClumpletReader::dpb(&attach.parameters).unwrap().map(|item| item.unwrap().tag).collect();
                assert!(tags.contains(&dpb::PROCESS_NAME) && !tags.contains(&dpb::PASSWORD), "{name}");
            }
        }
    }
}

#[test]
fn a_refused_login_ends_with_the_login_error() {
    let player = played("isql5-wrong-password");
    let Some(Reply::Response(last)) = replies(&player).last() else { panic!() };
    assert_eq!(last.status.error().map(|error| error.gds_code()), Some(isc::LOGIN));
}

#[test]
fn a_unique_violation_arrives_with_its_names() {
    let player = played("isql5-session");
    let errors: Vec<_> = replies(&player)
        .filter_map(|reply| match reply {
            Reply::Response(response) => response.status.error(),
            _ => None,
        })
        .collect();
    assert!(errors.iter().any(|error| error.has(isc::UNIQUE_KEY_VIOLATION)), "{errors:?}");
}

#[test]
fn statements_are_described_as_their_rows_arrive() {
    let player = played("isql5-session");
    let mut selects = 0;
    let mut prepared = false;
    for packet in &player.packets {
        match packet {
            Packet::Request(Request::Prepare(_)) => prepared = true,
            Packet::Reply(Reply::Response(response))
                if prepared && response.data.starts_with(&[21, 4, 0]) =>
            {
                let mut information = StatementInformation::default();
                assert_eq!(information.read(&response.data), Ok(None));
                if information.statement_type == u32::from(statement_type::SELECT) {
                    assert!(!information.outputs.is_empty());
                    selects += 1;
                }
            }
            _ => {}
        }
    }
    assert!(selects > 0);
}

#[test]
fn inline_blobs_keep_fbclients_limits() {
    let player = played("blobs5-inline");
    let mut blobs = 0;
    for reply in replies(&player) {
        if let Reply::InlineBlob(blob) = reply {
            blobs += 1;
            assert!(blob.information.len() <= 64 && blob.data.len() <= 65_535);
            assert_eq!(InfoReader::new(&blob.information).count(), 4);
        }
    }
    assert!(blobs > 10);
    assert!(!replies(&played("blobs5-noinline")).any(|reply| matches!(reply, Reply::InlineBlob(_))));
}

#[test]
fn blob_streams_of_a_batch_come_apart_into_blobs() {
    let player = played("batch5");
    let (mut blobs, mut completions) = (0, 0);
    for packet in &player.packets {
        match packet {
            Packet::Request(Request::BatchBlobStream(stream)) => {
                let headers = stream.portion.items.iter();
                blobs += headers.filter(|item| matches!(item, BlobStreamItem::Header { .. })).count();
            }
            Packet::Reply(Reply::BatchCompletion(completion)) => {
                completions += 1;
                assert!(completion.record_count > 0);
            }
            _ => {}
        }
    }
    assert!(blobs > 0 && completions > 0, "{blobs} blobs, {completions} completions");
}

#[test]
fn array_slices_are_described_and_decoded() {
    let player = played("gbak5-remote");
    let (mut slices, mut elements) = (0, 0);
    for packet in &player.packets {
        match packet {
            Packet::Request(Request::GetSlice(slice)) => {
                slices += 1;
                assert!(!SliceDescription::parse(&slice.sdl).unwrap().bounds.is_empty());
            }
            Packet::Reply(Reply::Slice(slice)) => {
                elements +=
                    slice.elements.values().unwrap().iter().filter(|value| **value != Value::Null).count();
            }
            _ => {}
        }
    }
    assert!(slices > 0 && elements > slices, "{slices} slices, {elements} elements");
}
