//! Writes that the edge has answered as done.

use super::*;

fn write(played: &mut Played, id: u32) {
    played.ask(Ask::Write { id: RequestId(id), packet: packet(&execute(2, 1)) });
}

fn done() -> Reply {
    Reply::Response(Response::object(Handle(8)))
}

/// A transaction with the edge's handle 1 and the server's 8, and a prepared statement with the edge's handle 2 and the server's 9.
fn writing() -> Played {
    let mut played = described();
    make_statement(&mut played, b"one");
    played.answer(&done());
    played.told();
    played
}

#[test]
fn a_write_is_sent_when_the_one_before_is_done() {
    let mut played = writing();
    write(&mut played, 8);
    write(&mut played, 9);
    played.relay(10, 0, &Request::Commit(Handle(1)));
    assert_eq!(played.asked(), [execute(9, 8)]);
    played.answer(&done());
    assert_eq!(played.reply(8, &execute(2, 1)), Response::object(Handle(1)));
    assert_eq!(played.asked(), [execute(9, 8)]);
    played.answer(&done());
    assert_eq!(played.asked(), [Request::Commit(Handle(8))]);
}

#[test]
fn a_write_costs_the_server_no_further_request() {
    let mut played = writing();
    write(&mut played, 8);
    write(&mut played, 9);
    assert_eq!(played.asked(), [execute(9, 8)], "a server answers it that has nothing more to read");
    played.answer(&done());
    assert_eq!(played.asked(), [execute(9, 8)]);
    // Behind it stands what the server may answer later, and the commit waits for the write.
    let close = |statement| Request::FreeStatement { statement, option: free_statement::CLOSE };
    played.quiet(0, &close(Handle(2)));
    played.relay(10, 0, &Request::Commit(Handle(1)));
    assert_eq!(played.asked(), [close(Handle(9)), Request::Ping]);
    played.answer(&done());
    assert_eq!(played.asked(), [Request::Commit(Handle(8))]);
}

#[test]
fn behind_one_that_fails_nothing_of_its_transaction_is_sent_but_its_end() {
    let mut played = writing();
    write(&mut played, 8);
    played.asked();
    write(&mut played, 9);
    let counts = Request::StatementInformation(about(2));
    played.relay(10, 0, &counts);
    played.relay(11, 0, &prepare(1, 2));
    played.relay(12, 0, &Request::CommitRetaining(Handle(1)));
    played.relay(13, 0, &Request::Commit(Handle(1)));
    let other = Request::DatabaseInformation(about(0));
    played.relay(14, 0, &other);
    played.answer(&failed(isc::NO_DUP));
    assert_eq!(played.asked(), [other], "another's affair goes on");
    let told = played.told();
    let failures = told.iter().filter(|tell| {
        let Tell::Reply { packets, .. } = tell else { return false };
        packets.windows(4).any(|code| code == isc::NO_DUP.to_be_bytes())
    });
    assert_eq!(failures.count(), 6, "{told:?}");
    played.answer(&Reply::Response(Response::success()));
    played.relay(15, 0, &Request::Rollback(Handle(1)));
    assert_eq!(played.asked(), [Request::Rollback(Handle(8))]);
}

#[test]
fn what_undoes_a_failed_write_is_sent_and_what_comes_behind_waits_for_it() {
    for outcome in [failed(isc::INVALID_SAVEPOINT), Reply::Response(Response::success())] {
        let mut played = writing();
        write(&mut played, 8);
        played.asked();
        played.answer(&failed(isc::NO_DUP));
        played.told();
        let undo = Request::RollbackRetaining(Handle(1));
        played.ask(Ask::Undo { id: RequestId(9), packet: packet(&undo) });
        played.relay(10, 0, &Request::CommitRetaining(Handle(1)));
        assert_eq!(played.asked(), [Request::RollbackRetaining(Handle(8))]);
        let is_undone = matches!(&outcome, Reply::Response(response) if response.status.is_success());
        played.answer(&outcome);
        let expected = if is_undone { vec![Request::CommitRetaining(Handle(8))] } else { Vec::new() };
        assert_eq!(played.asked(), expected);
    }
}

#[test]
fn an_edge_answers_nothing_but_writes_as_done() {
    let foreign = [Request::Commit(Handle(1)), execute(2, 0), prepare(1, 2)];
    for request in foreign {
        let mut played = writing();
        played.ask(Ask::Write { id: RequestId(8), packet: packet(&request) });
        assert!(played.conversation.is_ended(), "{request:?}");
    }
    let mut played = writing();
    played.ask(Ask::Undo { id: RequestId(8), packet: packet(&Request::Commit(Handle(1))) });
    assert!(played.conversation.is_ended());
}

/// A BLR request that has begun before goes on in its transaction, too.
#[test]
fn a_blr_request_does_not_go_on_behind_a_write_that_has_failed() {
    let mut played = writing();
    let call = |request, transaction| RequestCall {
        request: Handle(request),
        incarnation: 0,
        transaction: Handle(transaction),
        message_number: 0,
        messages: 1,
    };
    // A message of one integer.
    let blr = vec![5, 2, 4, 0, 1, 0, 8, 0, 255, 76];
    played.relay(8, 3, &Request::Compile { database: Handle(0), blr });
    played.answer(&Reply::Response(Response::object(Handle(20))));
    played.relay(9, 0, &Request::Start(call(3, 1)));
    played.answer(&Reply::Response(Response::success()));
    played.asked();
    write(&mut played, 10);
    assert_eq!(played.asked(), [execute(9, 8)]);
    played.relay(11, 0, &Request::Receive(call(3, 0)));
    played.answer(&failed(isc::NO_DUP));
    assert_eq!(played.asked(), []);
    let told = played.told();
    assert!(matches!(told.last(), Some(Tell::Reply { id: RequestId(11), .. })), "{told:?}");
}

#[test]
fn nothing_is_run_ahead_behind_a_write_that_has_failed() {
    for outcome in [done(), failed(isc::NO_DUP)] {
        let mut played = writing();
        write(&mut played, 8);
        played.asked();
        played.answer(&outcome);
        let is_done = matches!(&outcome, Reply::Response(response) if response.status.is_success());
        played.ask(one_ahead(1));
        let asked = played.asked();
        let begins = matches!(asked[..], [Request::AllocateStatement(_), Request::Ping]);
        assert_eq!((begins, asked.is_empty()), (is_done, !is_done), "{asked:?}");
    }
}

fn about(statement: u16) -> Information {
    Information {
        object: Handle(statement),
        incarnation: 0,
        items: vec![23],
        buffer_length: BufferLength(64),
    }
}
