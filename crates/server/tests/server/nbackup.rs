//! Incremental backups by the services manager, as fbsvcmgr asks for them.

use farbird_types::{Error, Value, isc};
use farbird_wire::clumplet::spb;
use farbird_wire::packet::Request;
use farbird_wire::protocol::Handle;

use crate::common::{Client, Login, TestServer};
use crate::services::{ask_sending, login, manager};

/// nbackup_lostrec_db, nbackup_lostrec_guid_db, nbackup_err_createbk, nbackup_err_openbk, nbackup_err_createdb, nbackup_invlevel_incbk,
/// nbackup_wrong_orderbk, nbackup_keep_hist_missed, nbackup_clean_hist_missed, nbackup_second_keep_switch, nbackup_switchd_parameter.
const LOST_LEVEL: u32 = 337_117_235;
const LOST_GUID: u32 = 337_117_261;
const CANNOT_CREATE: u32 = 337_117_230;
const CANNOT_OPEN: u32 = 337_117_229;
const CANNOT_CREATE_DATABASE: u32 = 337_117_228;
const WRONG_LEVEL: u32 = 337_117_246;
const WRONG_ORDER: u32 = 337_117_247;
const NOTHING_KEPT: u32 = 337_117_271;
const NOT_TO_BE_CLEANED: u32 = 337_117_270;
const KEPT_TWICE: u32 = 337_117_272;
const DIRECT_IS_ON_OR_OFF: u32 = 337_117_255;

/// A block of parameters.
struct Block(Vec<u8>);

impl Block {
    fn of(action: u8, database: &str) -> Block {
        Block(vec![action]).text(spb::DBNAME, database)
    }

    fn text(mut self, tag: u8, text: &str) -> Block {
        self.0.push(tag);
        self.0.extend((text.len() as u16).to_le_bytes());
        self.0.extend(text.as_bytes());
        self
    }

    fn number(mut self, tag: u8, number: i32) -> Block {
        self.0.push(tag);
        self.0.extend(number.to_le_bytes());
        self
    }

    fn flag(mut self, tag: u8) -> Block {
        self.0.push(tag);
        self
    }

    /// Runs the service; what it says.
    fn run(self, client: &mut Client) -> Result<String, Error> {
        client.ask(Request::ServiceStart { service: Handle::NONE, incarnation: 0, spb: self.0 })?;
        let mut said = String::new();
        loop {
            let answer = ask_sending(client, &[2], &[spb::info::LINE])?;
            if answer == [spb::info::LINE, 0, 0, 1] {
                return Ok(said);
            }
            let length = usize::from(u16::from_le_bytes([answer[1], answer[2]]));
            said.push_str(&String::from_utf8_lossy(&answer[3..3 + length]));
            said.push('\n');
        }
    }
}

fn back_up(file: &str, level: i32) -> Block {
    Block::of(spb::action::NBAK, "t.fbd").text(spb::nbackup::FILE, file).number(spb::nbackup::LEVEL, level)
}

fn restore(database: &str, files: &[&str]) -> Block {
    let block = Block::of(spb::action::NREST, database);
    files.iter().fold(block, |block, file| block.text(spb::nbackup::FILE, file))
}

fn code(outcome: Result<String, Error>) -> u32 {
    outcome.expect_err("a refusal").gds_code()
}

fn texts(client: &mut Client, query: &str) -> Vec<Vec<String>> {
    let text = |value: &Value| match value {
        Value::Text(text) => text.decode_lossy().trim_end().to_owned(),
        Value::Null => "null".to_owned(),
        Value::Integer { unscaled, .. } => unscaled.to_string(),
        other => panic!("{other:?}"),
    };
    client.query(query).iter().map(|row| row.iter().map(text).collect()).collect()
}

#[test]
fn levels_are_made_and_restored() {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE TABLE T (ID INTEGER PRIMARY KEY, B BLOB SUB_TYPE TEXT)");
    owner.run("INSERT INTO T VALUES (1, 'one')");
    let mut client = manager(&server, &Login::default());
    let said = back_up("sunday.fbn", 0).run(&mut client).unwrap();
    assert!(said.starts_with("level 0 {"), "{said}");
    owner.run("INSERT INTO T VALUES (2, 'two')");
    back_up("monday.fbn", 1).run(&mut client).unwrap();
    owner.run("UPDATE T SET B = 'first' WHERE ID = 1");
    back_up("tuesday.fbn", 2).run(&mut client).unwrap();

    let history = "SELECT RDB$BACKUP_ID, RDB$BACKUP_LEVEL, RDB$FILE_NAME FROM RDB$BACKUP_HISTORY ORDER BY 1";
    let expected = [["1", "0", "sunday.fbn"], ["2", "1", "monday.fbn"], ["3", "2", "tuesday.fbn"]];
    assert_eq!(texts(&mut owner, history), expected.map(|row| row.map(str::to_owned).to_vec()));

    // By GUID, with the latest first day left out: what it builds on is said by its number, and it has no level.
    let guid = texts(&mut owner, "SELECT RDB$GUID FROM RDB$BACKUP_HISTORY WHERE RDB$BACKUP_LEVEL = 0");
    let since = Block::of(spb::action::NBAK, "t.fbd")
        .text(spb::nbackup::FILE, "since.fbn")
        .text(spb::nbackup::GUID, &guid[0][0]);
    since.run(&mut client).unwrap();
    assert_eq!(texts(&mut owner, history)[3], ["4", "null", "since.fbn"]);

    let rows = "SELECT ID, CAST(B AS VARCHAR(10)) FROM T ORDER BY ID";
    for (name, files, expected) in [
        ("first.fbd", &["sunday.fbn"][..], &[["1", "one"]][..]),
        ("second.fbd", &["sunday.fbn", "monday.fbn"], &[["1", "one"], ["2", "two"]]),
        ("third.fbd", &["sunday.fbn", "monday.fbn", "tuesday.fbn"], &[["1", "first"], ["2", "two"]]),
        ("fourth.fbd", &["sunday.fbn", "since.fbn"], &[["1", "first"], ["2", "two"]]),
    ] {
        restore(name, files).run(&mut client).unwrap();
        let mut restored = server.attach(name);
        let expected: Vec<Vec<String>> =
            expected.iter().map(|row| row.iter().map(|it| (*it).to_owned()).collect()).collect();
        assert_eq!(texts(&mut restored, rows), expected, "{name}");
        // It is another database, of which there are no backups yet.
        assert!(texts(&mut restored, history).is_empty());
        restored.run("INSERT INTO T VALUES (3, 'three')");
    }
}

#[test]
fn what_cannot_be_is_refused_by_firebirds_codes() {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE TABLE T (ID INTEGER)");
    let mut client = manager(&server, &Login::default());
    assert_eq!(code(back_up("one.fbn", 1).run(&mut client)), LOST_LEVEL);
    back_up("zero.fbn", 0).run(&mut client).unwrap();
    back_up("one.fbn", 1).run(&mut client).unwrap();
    back_up("zero2.fbn", 0).run(&mut client).unwrap();
    assert_eq!(code(back_up("three.fbn", 3).run(&mut client)), LOST_LEVEL);
    assert_eq!(code(back_up("one.fbn", 1).run(&mut client)), CANNOT_CREATE);
    for guid in ["{00000000-0000-0000-0000-000000000000}", "zzz", ""] {
        let block = Block::of(spb::action::NBAK, "t.fbd").text(spb::nbackup::FILE, "by.fbn");
        assert_eq!(code(block.text(spb::nbackup::GUID, guid).run(&mut client)), LOST_GUID, "{guid}");
    }
    assert_eq!(code(restore("r.fbd", &["one.fbn"]).run(&mut client)), WRONG_LEVEL);
    assert_eq!(code(restore("r.fbd", &["zero.fbn", "zero2.fbn"]).run(&mut client)), WRONG_LEVEL);
    assert_eq!(code(restore("r.fbd", &["zero2.fbn", "one.fbn"]).run(&mut client)), WRONG_ORDER);
    assert_eq!(code(restore("r.fbd", &["zero.fbn", "nowhere.fbn"]).run(&mut client)), CANNOT_OPEN);
    assert_eq!(code(restore("t.fbd", &["zero.fbn"]).run(&mut client)), CANNOT_CREATE_DATABASE);
    assert!(restore("r.fbd", &["t.fbd"]).run(&mut client).is_err());
    assert!(!server.data().join("r.fbd").exists());

    use spb::nbackup::{CLEAN_HISTORY, DIRECT, INPLACE, KEEP_DAYS, KEEP_ROWS};
    let cleaned = |file: &str| back_up(file, 0).flag(CLEAN_HISTORY);
    assert_eq!(code(cleaned("x.fbn").run(&mut client)), NOTHING_KEPT);
    assert_eq!(code(back_up("x.fbn", 0).number(KEEP_ROWS, 1).run(&mut client)), NOT_TO_BE_CLEANED);
    let twice = cleaned("x.fbn").number(KEEP_ROWS, 1).number(KEEP_DAYS, 1);
    assert_eq!(code(twice.run(&mut client)), KEPT_TWICE);
    assert_eq!(code(back_up("x.fbn", 0).text(DIRECT, "maybe").run(&mut client)), DIRECT_IS_ON_OR_OFF);
    let in_place = restore("r.fbd", &["zero.fbn"]).number(spb::OPTIONS, i32::from(INPLACE));
    assert_eq!(code(in_place.run(&mut client)), isc::WISH_LIST);
    assert_eq!(code(back_up("../outside.fbn", 0).run(&mut client)), CANNOT_CREATE);

    let count = "SELECT COUNT(*) FROM RDB$BACKUP_HISTORY";
    assert_eq!(owner.value(count), Value::integer(3));
    cleaned("days.fbn").number(KEEP_DAYS, 1).run(&mut client).unwrap();
    assert_eq!(owner.value(count), Value::integer(4));
    cleaned("rows.fbn").number(KEEP_ROWS, 2).text(DIRECT, "on").run(&mut client).unwrap();
    let left = "SELECT RDB$FILE_NAME FROM RDB$BACKUP_HISTORY ORDER BY RDB$BACKUP_ID";
    assert_eq!(
        texts(&mut owner, left),
        [["days.fbn"], ["rows.fbn"]].map(|row| row.map(str::to_owned).to_vec())
    );
}

#[test]
fn who_may_not_back_up_is_told_nothing() {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE USER EVE PASSWORD 'eve'");
    let mut eve = manager(&server, &login("EVE", "eve"));
    let error = back_up("x.fbn", 0).run(&mut eve).unwrap_err();
    assert!(error.has(isc::ADM_TASK_DENIED) && error.has(isc::MISS_PRVLG), "{error}");
    let mut administrator = manager(&server, &Login::default());
    back_up("x.fbn", 0).run(&mut administrator).unwrap();
    assert_eq!(code(restore("r.fbd", &["x.fbn"]).run(&mut eve)), isc::NO_PRIV);
    let mut client = Client::log_in(server.address, &login("EVE", "eve")).unwrap();
    client.attach("t.fbd", &[]).unwrap();
    let error = client.try_run("DELETE FROM RDB$BACKUP_HISTORY").unwrap_err();
    assert!(error.has(isc::NO_PRIV) || error.has(isc::PROTECT_SYS_TAB), "{error}");
}
