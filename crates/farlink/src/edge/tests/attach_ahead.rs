//! What is attached ahead of a program answers it only if the server could not answer otherwise by now.

use super::*;
use crate::message::AttachedAhead;

/// A program that is logging in, and the id of what is attached ahead of it if something is.
fn logging_in(site: &Arc<Site>, channel: u32) -> (Played, RequestId, Option<RequestId>) {
    let mut played = Played::new(site, channel, ProtocolVersion::V13);
    played.says(&srp_connect());
    let answer = Reply::ConditionalAccept(AcceptWithData {
        accept: accept(ProtocolVersion::V13),
        data: b"salt and key".to_vec(),
        plugin: b"Srp256".to_vec(),
        authenticated: false,
        keys: Vec::new(),
    });
    played.replies(RequestId::CONNECT, &[answer]);
    played.answers(1);
    played.says(&Request::ContinueAuthentication(ContinueAuthentication {
        data: b"proof".to_vec(),
        plugin: b"Srp256".to_vec(),
        plugin_list: Vec::new(),
        keys: Vec::new(),
    }));
    match &played.asked()[..] {
        [Ask::Relay { id, .. }] => (played, *id, None),
        [Ask::Relay { id, .. }, Ask::AttachAhead { id: ahead, packet }] => {
            assert!(!packet.windows(2).any(|bytes| bytes == b"PW"), "a password is kept");
            (played, *id, Some(*ahead))
        }
        asked => panic!("{asked:?}"),
    }
}

fn attach_as(process: u8, charset: u8) -> Request {
    // isc_dpb_process_id, isc_dpb_lc_ctype, isc_dpb_password.
    let parameters = vec![1, 71, 1, process, 48, 1, charset, 29, 2, b'P', b'W'];
    Request::Attach(Attach { database: Handle(0), file: b"db".to_vec(), parameters })
}

fn attached() -> Option<AttachedAhead> {
    let mut packets = Vec::new();
    done().encode(ProtocolVersion::V13, &mut packets);
    Some(AttachedAhead {
        packets,
        database: 7,
        commit: CommitPoint(1),
        strict_transactions: false,
        guid: String::new(),
    })
}

/// A site that knows how such programs attach.
fn taught() -> Arc<Site> {
    let site = site(true);
    let (mut first, login, ahead) = logging_in(&site, 1);
    assert_eq!(ahead, None);
    first.replies(login, &[done()]);
    first.says(&attach_as(1, b'U'));
    let id = first.relayed();
    first.replies(id, &[done()]);
    assert_eq!(first.answers(2), [done(), done()]);
    site
}

/// What the origin is asked if the server is to attach.
fn is_relayed(asked: &[Ask]) -> bool {
    matches!(asked, [Ask::DetachAhead, Ask::Relay { .. }])
}

#[test]
fn the_answer_may_be_there_before_or_behind_the_question() {
    for is_before in [true, false] {
        let site = taught();
        let (mut played, login, ahead) = logging_in(&site, 2);
        let tell = Tell::AttachedAhead { id: ahead.unwrap(), attached: attached() };
        played.replies(login, &[done()]);
        if is_before {
            played.tell(tell.clone());
        }
        assert_eq!(played.answers(1), [done()]);
        played.says(&attach_as(9, b'U'));
        if !is_before {
            assert_eq!(played.asked(), []);
            played.tell(tell);
        }
        assert_eq!(played.asked(), [Ask::Attached { process_id: Some(9) }]);
        assert_eq!(played.answers(1), [done()]);
        assert_eq!(site.counters().saved(Saved::Attach), 1);
        assert_eq!(played.machine.wake_at(), None);
    }
}

#[test]
fn what_has_failed_or_is_another_is_asked_for() {
    for (charset, outcome) in [(b'U', None), (b'W', attached())] {
        let site = taught();
        let (mut played, login, ahead) = logging_in(&site, 2);
        played.replies(login, &[done()]);
        let tell = Tell::AttachedAhead { id: ahead.unwrap(), attached: outcome };
        played.says(&attach_as(9, charset));
        played.tell(tell);
        let asked = played.asked();
        assert!(is_relayed(&asked), "{asked:?}");
        let Some(Ask::Relay { id, .. }) = asked.last() else { unreachable!() };
        let refused = Reply::Response(Response::error(&Error::new(isc::NO_PRIV)));
        played.replies(*id, std::slice::from_ref(&refused));
        assert_eq!(played.answers(2), [done(), refused]);
        assert_eq!(site.counters().saved(Saved::Attach), 0);
    }
}

/// A trigger ON CONNECT, a REVOKE, a new password: the program may know of it.
#[test]
fn what_changes_meanwhile_is_seen() {
    for change in [ToEdge::Invalidate { database: 7 }, ToEdge::UsersChanged] {
        let site = taught();
        let (mut played, login, ahead) = logging_in(&site, 2);
        played.replies(login, &[done()]);
        played.tell(Tell::AttachedAhead { id: ahead.unwrap(), attached: attached() });
        site.message(&change);
        played.says(&attach_as(9, b'U'));
        let asked = played.asked();
        assert!(is_relayed(&asked), "{change:?}: {asked:?}");
    }
}

#[test]
fn what_nobody_takes_is_detached() {
    let site = taught();
    let (mut played, login, ahead) = logging_in(&site, 2);
    played.replies(login, &[done()]);
    played.tell(Tell::AttachedAhead { id: ahead.unwrap(), attached: attached() });
    let until = played.machine.wake_at().unwrap();
    played.machine.wake(until);
    played.collect();
    assert_eq!(played.asked(), [Ask::DetachAhead]);
    assert_eq!(played.machine.wake_at(), None);
    // It asks for something else first.
    let (mut played, login, ahead) = logging_in(&site, 3);
    played.replies(login, &[done()]);
    played.tell(Tell::AttachedAhead { id: ahead.unwrap(), attached: attached() });
    played.says(&Request::Ping);
    let asked = played.asked();
    assert!(is_relayed(&asked), "{asked:?}");
}
