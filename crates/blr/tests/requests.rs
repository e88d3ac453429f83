//! Requests as Firebird's preprocessor writes them, cut and bent ones, and any bytes.

use farbird_blr::{
    Comparison, Condition, DEPTH_MAX, Expression, FieldName, Overriding, RecordSource, RelationName,
    Statement, Target, parse,
};
use farbird_types::isc;

const VERSION: u8 = 5;
const BEGIN: u8 = 2;
const END: u8 = 255;
const END_OF_CODE: u8 = 76;

/// FOR R IN RDB$ROLES WITH R.RDB$ROLE_NAME = the message's text: sends the owner's name and 1, then 0.
fn request() -> Vec<u8> {
    let name = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let mut code = vec![VERSION, BEGIN];
    code.extend([4, 1, 2, 0, 40, 32, 0, 7, 0]); // blr_message 1: cstring(32), short
    code.extend([4, 0, 1, 0, 40, 32, 0]); // blr_message 0: cstring(32)
    code.extend([12, 0, BEGIN]); // blr_receive 0
    code.extend([7, 67, 1, 74]); // blr_for, blr_rse, one relation by name
    code.extend(name("RDB$ROLES"));
    code.push(0); // context
    code.extend([71, 47, 23, 0]); // blr_boolean, blr_eql, blr_field of context 0
    code.extend(name("RDB$ROLE_NAME"));
    code.extend([25, 0, 0, 0, END]); // blr_parameter of message 0
    code.extend([14, 1, BEGIN, 1, 23, 0]); // blr_send 1, blr_assignment of a field
    code.extend(name("RDB$OWNER_NAME"));
    code.extend([25, 1, 0, 0]);
    code.extend([1, 21, 8, 0, 1, 0, 0, 0, 25, 1, 1, 0, END]); // 1 to the second item
    code.extend([14, 1, 1, 21, 8, 0, 0, 0, 0, 0, 25, 1, 1, 0]); // blr_send 1: 0 to the second item
    code.extend([END, END, END_OF_CODE]);
    code
}

#[test]
fn a_loop_with_a_message_each_way_is_understood() {
    let request = parse(&request()).unwrap();
    assert_eq!(
        request.messages.iter().map(|one| (one.number, one.items.len())).collect::<Vec<_>>(),
        [(1, 2), (0, 1)]
    );
    let Statement::Block(statements) = &request.body else { panic!("{request:?}") };
    let Some(Statement::Receive { message: 0, body }) = statements.last() else { panic!("{request:?}") };
    let Statement::Block(inside) = &**body else { panic!("{body:?}") };
    let [Statement::For { source, body }, Statement::Send { message: 1, .. }] = inside.as_slice() else {
        panic!("{inside:?}")
    };
    let [RecordSource::Relation(relation)] = source.sources.as_slice() else { panic!("{source:?}") };
    assert_eq!(relation.name, RelationName::Name("RDB$ROLES".to_owned()));
    let Some(Condition::Compare(Comparison::Equal, left, right)) = &source.condition else {
        panic!("{source:?}")
    };
    assert!(
        matches!(&**left, Expression::Field(field) if field.name == FieldName::Name("RDB$ROLE_NAME".to_owned()))
    );
    assert!(matches!(&**right, Expression::Parameter(parameter) if parameter.message == 0));
    let Statement::Send { body, .. } = &**body else { panic!("{body:?}") };
    let Statement::Block(assignments) = &**body else { panic!("{body:?}") };
    assert!(matches!(assignments.as_slice(), [Statement::Assign { target: Target::Parameter(_), .. }, _]));
}

/// What gbak stores the rows of a table with: blr_loop, blr_receive, blr_store3 (its clause, blr_marks), and nothing behind it.
fn store(clause: u8, behind: u8) -> Vec<u8> {
    let mut code =
        vec![VERSION, BEGIN, 4, 0, 1, 0, 8, 0, 9, 12, 0, 213, clause, 217, 1, 0x10, 74, 1, b'T', 0];
    code.extend([BEGIN, 1, 25, 0, 0, 0, 23, 0, 1, b'A', END, behind, END, END_OF_CODE]);
    code
}

#[test]
fn rows_are_stored_over_what_identity_columns_would_make() {
    for (clause, wanted) in [(1, Overriding::User), (2, Overriding::System)] {
        let request = parse(&store(clause, 45)).unwrap();
        let Statement::Block(statements) = &request.body else { panic!("{request:?}") };
        let [_, Statement::Loop(body)] = statements.as_slice() else { panic!("{statements:?}") };
        let Statement::Receive { body, .. } = &**body else { panic!("{body:?}") };
        assert!(
            matches!(&**body, Statement::Store { overriding: Some(clause), .. } if *clause == wanted),
            "{body:?}"
        );
    }
    assert!(parse(&store(3, 45)).expect_err("no such clause").has(isc::SYNTAXERR));
    assert!(parse(&store(2, BEGIN)).expect_err("something behind it").has(isc::WISH_LIST));
}

#[test]
fn a_generator_goes_on_into_a_variable() {
    // blr_dcl_variable 0 of blr_int64; blr_assignment of blr_gen_id of G by the blr_literal 5 to blr_variable 0.
    let mut code = vec![VERSION, BEGIN, 3, 0, 0, 16, 0, BEGIN, 1, 101, 1, b'G', 21, 16, 0];
    code.extend(5_i64.to_le_bytes());
    code.extend([26, 0, 0, END, END, END_OF_CODE]);
    let request = parse(&code).unwrap();
    let Statement::Block(statements) = &request.body else { panic!("{request:?}") };
    let [_, Statement::Block(inside)] = statements.as_slice() else { panic!("{statements:?}") };
    let [Statement::Assign { value, target: Target::Variable(0) }] = inside.as_slice() else {
        panic!("{inside:?}")
    };
    assert!(matches!(value, Expression::Generator(name, _) if name == "G"));
}

#[test]
fn requests_that_are_cut_are_refused_at_every_byte() {
    let whole = request();
    for length in 0..whole.len() {
        let error = parse(&whole[..length]).expect_err("it is not whole");
        assert!(error.has(isc::INVALID_BLR), "{length}: {error}");
    }
}

#[test]
fn bent_requests_are_refused_or_understood() {
    let whole = request();
    for place in 0..whole.len() {
        for byte in 0..=255 {
            let mut bent = whole.clone();
            bent[place] = byte;
            let _ = parse(&bent);
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let error = |code: &[u8]| parse(code).expect_err("it is wrong");
    assert!(error(&[9, BEGIN, END, END_OF_CODE]).has(isc::WROBLRVER2));
    assert!(error(&[VERSION, BEGIN, 14, 3, BEGIN, END, END, END_OF_CODE]).has(isc::BADMSGNUM));
    // A field of a context that nobody declared, to an item that is not there.
    assert!(error(&[VERSION, 1, 23, 7, 1, b'A', 25, 0, 0, 0, END_OF_CODE]).has(isc::CTXNOTDEF));
    assert!(error(&[VERSION, BEGIN, 4, 0, 0, 0, 1, 45, 25, 0, 0, 0, END, END_OF_CODE]).has(isc::BADPARNUM));
    // blr_exec_proc.
    assert!(error(&[VERSION, 120, 0, END_OF_CODE]).has(isc::WISH_LIST));
}

#[test]
fn depth_is_bounded() {
    let deep = |depth: u32| {
        let mut code = vec![VERSION];
        code.extend((0..depth).map(|_| BEGIN));
        code.extend((0..depth).map(|_| END));
        code.push(END_OF_CODE);
        parse(&code)
    };
    assert!(deep(DEPTH_MAX).is_ok());
    assert!(deep(DEPTH_MAX + 1).expect_err("too deep").has(isc::IMP_EXC));
}
