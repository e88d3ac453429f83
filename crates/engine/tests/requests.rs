//! BLR requests: loops that hand out messages, changes of records, several instances, calls out of order.

mod ddl_support;

use ddl_support::{Session, TestDatabase, described};
use farbird_engine::api::{RequestHandle, TransactionHandle, TransactionParameters};
use farbird_types::{Result, Value, isc};

const BEGIN: u8 = 2;
const END: u8 = 255;

/// A length and a name.
fn name(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).expect("a short name")], text.as_bytes()].concat()
}

fn code(parts: &[&[u8]]) -> Vec<u8> {
    let mut all = vec![5];
    all.extend(parts.iter().copied().flatten());
    all.push(76);
    all
}

/// For each row of T with an ID from that of message 0 on, backwards: sends the ID, the NAME and 1; at the end 0.
fn listing() -> Vec<u8> {
    let (table, id, text) = (name("T"), name("ID"), name("NAME"));
    code(&[
        &[BEGIN, 4, 1, 4, 0, 8, 0, 37, 20, 0, 7, 0, 7, 0], // message 1: id, name, whether it is NULL, whether there is one
        &[4, 0, 1, 0, 8, 0],                               // message 0: id
        &[12, 0, BEGIN, 7, 67, 1, 74],
        &table,
        &[0, 71, 50, 23, 0],
        &id,
        &[25, 0, 0, 0, 70, 1, 73, 23, 0],
        &id,
        &[END, 14, 1, BEGIN, 1, 23, 0],
        &id,
        &[25, 1, 0, 0, 1, 23, 0],
        &text,
        &[41, 1, 1, 0, 2, 0, 1, 21, 7, 0, 1, 0, 25, 1, 3, 0, END],
        &[14, 1, 1, 21, 7, 0, 0, 0, 25, 1, 3, 0, END, END],
    ])
}

fn integer(number: i64) -> Value {
    Value::Integer { unscaled: number, scale: 0 }
}

/// A table of three rows, and a transaction.
fn database() -> (TestDatabase, Session, TransactionHandle) {
    let (database, mut session) = TestDatabase::create();
    session.execute("create table t (id integer, name varchar(20))");
    session.commit();
    for sql in [
        "insert into t values (1, 'one')",
        "insert into t values (2, null)",
        "insert into t values (3, 'three')",
    ] {
        session.execute(sql);
    }
    session.commit();
    let transaction =
        session.attachment().start_transaction(TransactionParameters::default()).expect("a transaction");
    (database, session, transaction)
}

/// Starts an instance with a message and gives what it hands out, up to the message that says that there is no more.
fn listed(
    session: &mut Session,
    request: RequestHandle,
    transaction: TransactionHandle,
    from: i64,
) -> Vec<(i64, Value)> {
    let attachment = session.attachment();
    attachment.start_request(request, 0, transaction).expect("a start");
    attachment.send_to_request(request, 0, 0, vec![integer(from)]).expect("a message");
    let mut rows = Vec::new();
    loop {
        let message = attachment.receive_from_request(request, 0, 1).expect("a message");
        let [id, text, null, is_there] = message.as_slice() else { panic!("{message:?}") };
        if *is_there == integer(0) {
            return rows;
        }
        let Value::Integer { unscaled: id, .. } = id else { panic!("{message:?}") };
        assert_eq!(*null, integer(if text.is_null() { -1 } else { 0 }));
        rows.push((*id, text.clone()));
    }
}

fn failure<T>(result: Result<T>) -> String {
    described(&result.err().expect("a failure"))
}

#[test]
fn a_loop_hands_out_its_records_and_begins_again() {
    let (_database, mut session, transaction) = database();
    let request = session.attachment().compile_request(&listing()).expect("a request");
    let wanted = vec![(3, Value::text("three")), (2, Value::Null)];
    assert_eq!(listed(&mut session, request, transaction, 2), wanted);
    assert_eq!(listed(&mut session, request, transaction, 2), wanted);
    assert_eq!(listed(&mut session, request, transaction, 4), []);
    session.attachment().release_request(request).expect("a release");
    assert_eq!(failure(session.attachment().release_request(request)), "bad_req_handle");
}

#[test]
fn instances_run_beside_each_other() {
    let (_database, mut session, transaction) = database();
    let attachment = session.attachment();
    let request = attachment.compile_request(&listing()).expect("a request");
    for level in [0, 7] {
        attachment.start_request(request, level, transaction).expect("a start");
        attachment.send_to_request(request, level, 0, vec![integer(0)]).expect("a message");
    }
    for level in [0, 7, 7, 0] {
        attachment.receive_from_request(request, level, 1).expect("a message");
    }
    let last = attachment.receive_from_request(request, 7, 1).expect("a message");
    assert_eq!(last.first(), Some(&integer(1)));
}

#[test]
fn calls_out_of_order_are_refused() {
    let (_database, mut session, transaction) = database();
    let attachment = session.attachment();
    let request = attachment.compile_request(&listing()).expect("a request");
    assert_eq!(failure(attachment.receive_from_request(request, 0, 1)), "req_sync");
    attachment.start_request(request, 0, transaction).expect("a start");
    assert_eq!(failure(attachment.receive_from_request(request, 0, 1)), "req_sync");
    assert_eq!(failure(attachment.send_to_request(request, 0, 1, vec![integer(0)])), "req_sync");
    attachment.send_to_request(request, 0, 0, vec![integer(0)]).expect("a message");
    attachment.receive_from_request(request, 0, 1).expect("a message");
    attachment.commit(transaction).expect("a commit");
    assert_eq!(failure(attachment.receive_from_request(request, 0, 1)), "req_sync");
    assert_eq!(failure(attachment.start_request(request, 0, transaction)), "bad_trans_handle");
}

#[test]
fn records_are_stored_modified_and_erased() {
    let (_database, mut session, transaction) = database();
    let (table, id, text) = (name("T"), name("ID"), name("NAME"));
    let store = code(&[
        &[BEGIN, 4, 0, 3, 0, 8, 0, 37, 20, 0, 7, 0, 12, 0, 15, 74],
        &table,
        &[0, BEGIN, 1, 25, 0, 0, 0, 23, 0],
        &id,
        &[1, 41, 0, 1, 0, 2, 0, 23, 0],
        &text,
        &[END, END],
    ]);
    // Of the record of message 0, the name with "!" behind it.
    let modify = code(&[
        &[BEGIN, 4, 0, 1, 0, 8, 0, 12, 0, 7, 67, 1, 74],
        &table,
        &[0, 71, 47, 23, 0],
        &id,
        &[25, 0, 0, 0, END, 10, 0, 1, BEGIN, 1, 39, 23, 0],
        &text,
        &[21, 14, 1, 0, b'!', 23, 1],
        &text,
        &[END, END],
    ]);
    // Records below message 0.
    let erase = code(&[
        &[BEGIN, 4, 0, 1, 0, 8, 0, 12, 0, 7, 67, 1, 74],
        &table,
        &[0, 71, 51, 23, 0],
        &id,
        &[25, 0, 0, 0, END, 5, 0, END],
    ]);
    let mut run = |blr: &[u8], message: Vec<Value>| {
        let attachment = session.attachment();
        let request = attachment.compile_request(blr).expect("a request");
        attachment.start_request(request, 0, transaction).expect("a start");
        attachment.send_to_request(request, 0, 0, message).expect("a message");
    };
    run(&store, vec![integer(7), Value::text("seven"), integer(0)]);
    run(&store, vec![integer(8), Value::text("nobody's"), integer(-1)]);
    run(&modify, vec![integer(3)]);
    run(&erase, vec![integer(3)]);
    let request = session.attachment().compile_request(&listing()).expect("a request");
    let found = listed(&mut session, request, transaction, 0);
    assert_eq!(found, [(8, Value::Null), (7, Value::text("seven")), (3, Value::text("three!"))]);
}

#[test]
fn names_that_are_unknown_are_told() {
    let (_database, mut session, _) = database();
    let compile = |blr: Vec<u8>, session: &mut Session| failure(session.attachment().compile_request(&blr));
    let bent = |from: &[u8], to: &[u8]| {
        let blr = listing();
        let place = blr.windows(from.len()).position(|window| window == from).expect("it is there");
        [&blr[..place], to, &blr[place + from.len()..]].concat()
    };
    assert!(compile(bent(&name("T"), &name("X")), &mut session).starts_with("relnotdef"));
    assert!(compile(bent(&name("NAME"), &name("NONE")), &mut session).starts_with("fldnotdef"));
    assert!(compile(vec![5, 2, 255], &mut session).starts_with("invalid_blr"));
}

#[test]
fn a_loop_without_end_can_be_stopped() {
    let (_database, mut session, transaction) = database();
    let attachment = session.attachment();
    // blr_loop of nothing.
    let request = attachment.compile_request(&[5, 9, BEGIN, END, 76]).expect("a request");
    let interrupt = attachment.interrupt();
    interrupt.raise(farbird_engine::session::StopReason::Cancelled);
    assert!(failure(attachment.start_request(request, 0, transaction)).starts_with("cancelled"));
}

#[test]
fn privileges_are_asked_for() {
    let (database, mut owner, _) = database();
    owner.rollback();
    let mut other = database.attach("JOE", None);
    let attachment = other.attachment();
    let transaction = attachment.start_transaction(TransactionParameters::default()).expect("a transaction");
    let request = attachment.compile_request(&listing()).expect("a request");
    attachment.start_request(request, 0, transaction).expect("a start");
    let refused = failure(attachment.send_to_request(request, 0, 0, vec![integer(0)]));
    assert!(refused.starts_with("no_priv"), "{refused}");
}

/// Runs something on the stack that threads have unless somebody asks for more.
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    const STACK_BYTES: usize = 2 * 1024 * 1024;
    std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(run)
        .expect("a thread")
        .join()
        .expect("it survives");
}

/// A request that hands out a value and nothing else.
fn giving(value: &[u8]) -> Vec<u8> {
    code(&[&[BEGIN, 4, 0, 1, 0, 8, 0, 14, 0, 1], value, &[25, 0, 0, 0, END]])
}

/// The value that a request hands out, or why there is none.
fn given(session: &mut Session, transaction: TransactionHandle, blr: &[u8]) -> Result<Value> {
    let attachment = session.attachment();
    let request = attachment.compile_request(blr)?;
    let given = attachment
        .start_request(request, 0, transaction)
        .and_then(|()| attachment.receive_from_request(request, 0, 0));
    attachment.release_request(request)?;
    given.map(|message| message.into_iter().next().expect("an item"))
}

/// blr_rse of records of T with clauses.
fn records(context: u8, clauses: &[u8]) -> Vec<u8> {
    [&[67, 1, 74], name("T").as_slice(), &[context], clauses, &[END]].concat()
}

/// blr_field of a record of T.
fn field(context: u8, column: &str) -> Vec<u8> {
    [&[23, context], name(column).as_slice()].concat()
}

const ONE: [u8; 7] = [21, 8, 0, 1, 0, 0, 0];

#[test]
fn the_deepest_requests_that_are_taken_fit_the_stack() {
    on_a_small_stack(|| {
        let (_database, mut session, transaction) = database();
        // What opens and closes the level of a number, around a 1 or a condition.
        type Level = fn(u8) -> (Vec<u8>, Vec<u8>);
        let values: &[(&str, Level)] = &[
            ("blr_negate", |_| (vec![38], vec![])),
            ("blr_add", |_| (vec![34], ONE.to_vec())),
            ("blr_concatenate", |_| ([&[39], ONE.as_slice()].concat(), vec![])),
            ("blr_substring", |_| (vec![40], [ONE, ONE].concat())),
            ("blr_cast in the start of blr_substring", |_| {
                ([&[40], ONE.as_slice(), &[131, 8, 0]].concat(), ONE.to_vec())
            }),
            ("blr_value_if", |_| ([&[105, 47], ONE.as_slice(), &ONE].concat(), ONE.to_vec())),
            ("blr_via", |level| ([vec![43], records(level, &[])].concat(), ONE.to_vec())),
            ("the default of blr_via", |level| {
                ([vec![43], records(level, &[]), ONE.to_vec()].concat(), vec![])
            }),
            ("blr_count", |level| {
                let rse = records(level, &[]);
                let (open, _) = rse.split_at(rse.len() - 1);
                ([&[28], open, &[71, 47], &ONE].concat(), vec![END])
            }),
        ];
        for (what, level) in values {
            let nested = |levels: u8| {
                let (before, after): (Vec<_>, Vec<_>) = (0..levels).map(level).unzip();
                let after = after.into_iter().rev().collect::<Vec<_>>();
                giving(&[before.concat(), ONE.to_vec(), after.concat()].concat())
            };
            let taken = |levels: &u8| farbird_blr::parse(&nested(*levels)).is_ok();
            let deepest = (1..100).rev().find(taken).expect("one level is taken");
            assert!(deepest < 50, "{what}");
            // Values that are too large or too small are errors as well as any; the stack is what is looked at.
            let _ = given(&mut session, transaction, &nested(deepest));
        }
        // Joins within each other, each the first one of the next.
        for (within, sources) in [(1, 1), (1, 38), (1, 255), (6, 6), (6, 40), (30, 2), (120, 2)] {
            let mut context = 0;
            let mut joined = Vec::new();
            for _ in 0..within {
                let mut more = vec![67, sources];
                more.extend(std::mem::take(&mut joined));
                let first = usize::from(more.len() > 2);
                for _ in first..usize::from(sources) {
                    more.extend([&[74], name("T").as_slice(), &[context]].concat());
                    context = u8::wrapping_add(context, 1);
                }
                more.push(END);
                joined = more;
            }
            let wanted =
                [&[42, 67, 2], joined.as_slice(), &[74], &name("T"), &[255, 68], &ONE, &[END], &ONE].concat();
            let depth = usize::from(sources) * within;
            match given(&mut session, transaction, &giving(&wanted)) {
                Ok(_) => assert!(depth < 80, "{within} of {sources}"),
                Err(error) => {
                    assert!(error.has(isc::IMP_EXC) && depth > 30, "{within} of {sources}: {error}")
                }
            }
        }
    });
}

#[test]
fn what_would_give_other_records_is_refused() {
    let (_database, mut session, transaction) = database();
    for sql in ["insert into t values (3, 'three')", "insert into t values (3, 'again')"] {
        session.execute(sql);
    }
    session.commit();
    let transaction_of_new = session.attachment().start_transaction(TransactionParameters::default());
    let transaction = [transaction, transaction_of_new.expect("a transaction")][1];
    let count = |clauses: &[u8]| giving(&[vec![28], records(0, clauses)].concat());
    let mut ask = |blr: Vec<u8>| given(&mut session, transaction, &blr);
    assert_eq!(ask(count(&[])).expect("a count"), integer(5));
    // blr_project of the ID, blr_first, blr_skip.
    let project = [&[69, 1], field(0, "ID").as_slice()].concat();
    for clauses in [project.clone(), [&[68], ONE.as_slice()].concat(), [&[175], ONE.as_slice()].concat()] {
        assert!(failure(ask(count(&clauses))).starts_with("wish_list"), "{clauses:?}");
    }
    // blr_from of the only record, of which there are several.
    let from = |rse: Vec<u8>| giving(&[vec![42], rse, field(0, "ID")].concat());
    assert!(failure(ask(from([vec![127], records(0, &[])].concat()))).starts_with("wish_list"));
    let first = [&[70, 1, 72], field(0, "ID").as_slice()].concat();
    assert_eq!(ask(from(records(0, &first))).expect("a value"), integer(1));
    // The first record, joined with those of an outer join: the limit is the inner one's.
    let table = name("T");
    let inner = [
        &[67, 2, 74],
        table.as_slice(),
        &[1, 74],
        &table,
        &[2, 71, 47],
        &ONE,
        &ONE,
        &[80, 1, 68],
        &ONE,
        &[END],
    ];
    let outer = [&[28, 67, 2, 74], table.as_slice(), &[0], &inner.concat(), &[END]].concat();
    assert!(failure(ask(giving(&outer))).starts_with("wish_list"));
}

#[test]
fn instances_are_limited_and_counted() {
    let (_database, mut session, transaction) = database();
    let attachment = session.attachment();
    let request = attachment.compile_request(&listing()).expect("a request");
    for level in 0..1000 {
        attachment.start_request(request, level, transaction).expect("a start");
    }
    assert_eq!(failure(attachment.start_request(request, 1000, transaction)), "req_max_clones_exceeded");
    attachment.start_request(request, 999, transaction).expect("one that is there begins again");
    attachment.release_request(request).expect("a release");
    // A message of 65,535 texts of 65,535 bytes.
    let mut blr = vec![5, BEGIN, 4, 0, 255, 255];
    blr.extend([14, 255, 255].repeat(65_535));
    blr.extend([12, 0, BEGIN, END, END, 76]);
    let request = attachment.compile_request(&blr).expect("a request");
    assert!(failure(attachment.start_request(request, 0, transaction)).starts_with("virmemexh"));
}

#[test]
fn the_time_has_milliseconds() {
    let (_database, mut session, transaction) = database();
    // A millisecond of a time that is not 0 in all of some tries.
    let blr = code(&[&[BEGIN, 4, 0, 1, 0, 35, 14, 0, 1, 161, 25, 0, 0, 0, END]]);
    let has_milliseconds = (0..200).any(|_| {
        let value = given(&mut session, transaction, &blr).expect("a time");
        let Value::Timestamp(timestamp) = value else { panic!("{value:?}") };
        std::thread::sleep(std::time::Duration::from_millis(3));
        timestamp.time.0 % 10_000 != 0
    });
    assert!(has_milliseconds);
}
