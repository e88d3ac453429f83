//! Any bytes at all in the places where blocks stand: parsers of blocks may refuse, but neither panic nor run on.

use farbird_wire::auth::srp::{ClientLogin, ProofHash, ServerLogin, Verifier};
use farbird_wire::auth::{legacy, normalize_user_name};
use farbird_wire::blob_stream::is_segmented;
use farbird_wire::clumplet::{ClumpletReader, parse_service_query, parse_service_start};
use farbird_wire::compress::Inflater;
use farbird_wire::crypt::keys::Keys;
use farbird_wire::event::{parse_events, write_events};
use farbird_wire::info::{InfoReader, StatementInformation};
use farbird_wire::message::{MessageFormat, parse_message_formats};
use farbird_wire::negotiation::UserIdentification;
use farbird_wire::packet::BufferLength;
use farbird_wire::slice::{SliceDescription, element_type};
use proptest::prelude::*;

/// Bytes that begin like a block more often than chance would have it.
fn block() -> impl Strategy<Value = Vec<u8>> {
    let small = prop::collection::vec(prop_oneof![0_u8..40, any::<u8>()], 0..80);
    let heads: Vec<Vec<u8>> =
        vec![vec![], vec![1], vec![2, 2], vec![3], vec![5, 2, 4, 0], vec![1, 6, 1], vec![20, 2]];
    (prop::sample::select(heads), small).prop_map(|(head, tail)| [head, tail].concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_block_is_read_to_an_end(bytes in block()) {
        let readers = [
            ClumpletReader::dpb(&bytes),
            ClumpletReader::spb_attach(&bytes),
            ClumpletReader::tpb(&bytes),
            ClumpletReader::bpb(&bytes),
            ClumpletReader::batch(&bytes),
        ];
        for reader in readers.into_iter().flatten() {
            prop_assert!(reader.count() <= bytes.len());
        }
        prop_assert!(InfoReader::new(&bytes).count() <= bytes.len());
        prop_assert!(InfoReader::sql(&bytes).count() <= bytes.len());
        if let Ok(events) = parse_events(&bytes) {
            prop_assert!(events.is_empty() || write_events(&events) == bytes);
        }
        if let Ok(user) = UserIdentification::parse(&bytes) {
            prop_assert_eq!(UserIdentification::parse(&user.to_bytes()), Ok(user));
        }
        if let Ok(keys) = Keys::parse(&bytes) {
            prop_assert!(Keys::parse(&keys.to_bytes()).is_ok());
        }
        if let Ok(Some(format)) = MessageFormat::parse(&bytes) {
            prop_assert_eq!(MessageFormat::parse(&format.to_blr()), Ok(Some(format)));
        }
        prop_assert!(parse_message_formats(&bytes).map_or(0, |formats| formats.len()) <= bytes.len());
        prop_assert!(parse_service_start(&bytes).map_or(0, |(_, items)| items.len()) <= bytes.len());
        prop_assert!(parse_service_query(&bytes).map_or(0, |items| items.len()) <= bytes.len());
        prop_assert!(SliceDescription::parse(&bytes).is_err() || element_type(&bytes).is_ok());
        prop_assert!(is_segmented(&bytes).is_ok() || !bytes.is_empty());
        let reply = StatementInformation::default().reply(&bytes, BufferLength(200));
        prop_assert!(reply.len() <= 200);
        let mut read = StatementInformation::default();
        prop_assert!(read.read(&bytes).is_err() || read.outputs.len() + read.inputs.len() <= bytes.len());
        let mut out = Vec::new();
        prop_assert!(Inflater::default().inflate(&bytes, &mut out, 1000).is_err() || out.len() <= 1000);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_authentication_data_is_refused_in_peace(bytes in block(), name in ".{0,70}") {
        let stored = Verifier::create("JOE", "secret", [1; 32]);
        prop_assert!(ServerLogin::new(ProofHash::Sha256, "JOE", stored.clone(), &bytes, [2; 32]).is_err());
        let login = ServerLogin::new(ProofHash::Sha256, "JOE", stored, b"ABCDEF", [2; 32]).unwrap();
        prop_assert!(login.verify(&bytes).is_err());
        prop_assert!(ClientLogin::new([3; 32]).respond(ProofHash::Sha1, "JOE", "x", &bytes).is_err());
        prop_assert!(!legacy::verify("JOE", &legacy::hash("secret"), &bytes));
        if let Ok(normal) = normalize_user_name(&name) {
            prop_assert!(normal.len() <= 63);
        }
    }
}
