//! Information about statements: what prepare and op_info_sql answer, written and read.
//!
//! Source: wire-protocol.md, 7.6.

use farbird_types::isc;

use super::{InfoReader, InfoWriter, common, sql};
use crate::clumplet::integer;
use crate::message::SqlDescription;
use crate::packet::BufferLength;
use crate::xdr::DecodeError;

/// A column or parameter as prepare describes it. Names are in the connection's character set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its type.
    pub description: SqlDescription,
    /// Name of the column it comes from.
    pub field: Vec<u8>,
    /// The column's relation.
    pub relation: Vec<u8>,
    /// The relation's alias in the statement.
    pub relation_alias: Vec<u8>,
    /// The relation's owner.
    pub owner: Vec<u8>,
    /// Name of the column in the result.
    pub alias: Vec<u8>,
    /// The relation's schema (Firebird 6).
    pub schema: Vec<u8>,
}

impl Variable {
    /// A variable without names: a parameter.
    pub fn unnamed(description: SqlDescription) -> Variable {
        Variable {
            description,
            field: Vec::new(),
            relation: Vec::new(),
            relation_alias: Vec::new(),
            owner: Vec::new(),
            alias: Vec::new(),
            schema: Vec::new(),
        }
    }
}

/// Rows that a statement touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordCounts {
    /// Read.
    pub selected: u32,
    /// Inserted.
    pub inserted: u32,
    /// Updated.
    pub updated: u32,
    /// Deleted.
    pub deleted: u32,
}

/// Everything that can be asked about a statement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatementInformation {
    /// Kind: [`super::statement_type`].
    pub statement_type: u32,
    /// 1 has a cursor, 2 can be executed again.
    pub flags: u32,
    /// Parameters.
    pub inputs: Vec<Variable>,
    /// Columns.
    pub outputs: Vec<Variable>,
    /// Plan in the old form; left out of replies if there is none.
    pub plan: Option<Vec<u8>>,
    /// Plan in the explained form; left out of replies if there is none.
    pub explained_plan: Option<Vec<u8>>,
    /// Rows touched; left out of replies if there is none (DDL).
    pub records: Option<RecordCounts>,
    /// Whether rows may be fetched in batches.
    pub batch_fetch: bool,
    /// Timeout set by the user, in milliseconds.
    pub timeout_user_ms: u32,
    /// Timeout in force, in milliseconds.
    pub timeout_run_ms: u32,
    /// BLR; left out of replies if there is none.
    pub blr: Option<Vec<u8>>,
}

/// Alignment of blobs in a batch's blob stream (item 30).
const BLOB_ALIGNMENT: i64 = 4;

impl StatementInformation {
    /// Answers the items asked, in their order, within the asker's room.
    pub fn reply(&self, items: &[u8], room: BufferLength) -> Vec<u8> {
        let mut writer = InfoWriter::new(room);
        let mut rest = items;
        // The section that describe_vars speaks of, once one is named, and the first variable wanted in each.
        let mut variables = None;
        let mut start = 1;
        while let Some((item, after)) = rest.split_first() {
            rest = after;
            match *item {
                common::END => break,
                sql::SELECT | sql::BIND => {
                    let section = if *item == sql::SELECT { &self.outputs } else { &self.inputs };
                    variables = Some(section.as_slice());
                    writer.bare(*item);
                }
                sql::SQLDA_START => {
                    let length = rest.first().copied().map_or(0, usize::from);
                    match (rest.get(1..=length), rest.get(1 + length..)) {
                        (Some(number), Some(after)) => {
                            start = integer(number).unwrap_or_default();
                            rest = after;
                        }
                        _ => {
                            writer.failed(*item, isc::INF_INVALID_ARGS);
                            break;
                        }
                    }
                }
                sql::NUM_VARIABLES | sql::DESCRIBE_VARS => match variables {
                    None => writer.unknown(*item),
                    Some(variables) if *item == sql::NUM_VARIABLES => {
                        writer.integer(*item, count(variables));
                    }
                    Some(variables) => {
                        let end =
                            rest.iter().position(|item| matches!(*item, sql::DESCRIBE_END | common::END));
                        let (asked, after) = rest.split_at(end.unwrap_or(rest.len()));
                        rest = after.strip_prefix(&[sql::DESCRIBE_END]).unwrap_or(after);
                        describe(variables, start, asked, &mut writer);
                    }
                },
                other => self.answer(other, &mut writer),
            }
        }
        writer.finish()
    }

    fn answer(&self, item: u8, writer: &mut InfoWriter) {
        let optional = |value: &Option<Vec<u8>>, writer: &mut InfoWriter| {
            if let Some(value) = value {
                writer.bytes(item, value);
            }
        };
        match item {
            sql::STMT_TYPE => writer.integer(item, i64::from(self.statement_type)),
            sql::STMT_FLAGS => writer.integer(item, i64::from(self.flags)),
            sql::GET_PLAN | sql::EXPLAIN_PLAN => {
                let plan = if item == sql::GET_PLAN { &self.plan } else { &self.explained_plan };
                if let Some(plan) = plan {
                    writer.text(item, plan);
                }
            }
            sql::EXEC_PATH_BLR_BYTES => optional(&self.blr, writer),
            sql::RECORDS => {
                if let Some(records) = &self.records {
                    writer.bytes(item, &records.to_bytes());
                }
            }
            sql::BATCH_FETCH => writer.integer(item, i64::from(self.batch_fetch)),
            sql::STMT_TIMEOUT_USER => writer.integer(item, i64::from(self.timeout_user_ms)),
            sql::STMT_TIMEOUT_RUN => writer.integer(item, i64::from(self.timeout_run_ms)),
            sql::STMT_BLOB_ALIGN => writer.integer(item, BLOB_ALIGNMENT),
            _ => writer.unknown(item),
        }
    }

    /// Reads a reply into this description, adding to what earlier replies told. Gives the index (from 1) of the
    /// first variable still missing when the reply was truncated: ask again from there.
    ///
    /// # Errors
    /// [`DecodeError`] for a reply that ends inside an item.
    pub fn read(&mut self, reply: &[u8]) -> Result<Option<Continuation>, DecodeError> {
        let mut section = Section::Outputs;
        let mut index = 0;
        for item in InfoReader::sql(reply) {
            let item = item?;
            let number = item.integer().unwrap_or(0);
            let word = u32::try_from(number).unwrap_or(0);
            match item.item {
                common::TRUNCATED => return Ok(Some(Continuation { section, from: index.max(1) })),
                sql::SELECT => (section, index) = (Section::Outputs, 0),
                sql::BIND => (section, index) = (Section::Inputs, 0),
                sql::STMT_TYPE => self.statement_type = word,
                sql::STMT_FLAGS => self.flags = word,
                sql::GET_PLAN => self.plan = Some(item.value.to_vec()),
                sql::EXPLAIN_PLAN => self.explained_plan = Some(item.value.to_vec()),
                sql::EXEC_PATH_BLR_BYTES => self.blr = Some(item.value.to_vec()),
                sql::RECORDS => self.records = Some(RecordCounts::from_bytes(item.value)?),
                sql::BATCH_FETCH => self.batch_fetch = number != 0,
                sql::STMT_TIMEOUT_USER => self.timeout_user_ms = word,
                sql::STMT_TIMEOUT_RUN => self.timeout_run_ms = word,
                sql::SQLDA_SEQ => {
                    index = word;
                    self.variable(section, index)?;
                }
                other => {
                    if index > 0 {
                        set(self.variable(section, index)?, other, item.value, number);
                    }
                }
            }
        }
        Ok(None)
    }

    /// The variable of an index; one behind the last is added.
    fn variable(&mut self, section: Section, index: u32) -> Result<&mut Variable, DecodeError> {
        let variables = match section {
            Section::Inputs => &mut self.inputs,
            Section::Outputs => &mut self.outputs,
        };
        let wrong = DecodeError::BadValue { offset: 0, value: index };
        let position = (index as usize).checked_sub(1).ok_or(wrong)?;
        if position == variables.len() {
            let description = SqlDescription { sql_type: 0, sub_type: 0, scale: 0, length: 0 };
            variables.push(Variable::unnamed(description));
        }
        variables.get_mut(position).ok_or(wrong)
    }
}

/// Parameters or columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Parameters (isc_info_sql_bind).
    Inputs,
    /// Columns (isc_info_sql_select).
    Outputs,
}

/// Where a truncated description goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Continuation {
    /// In which section.
    pub section: Section,
    /// From which variable, counted from 1.
    pub from: u32,
}

fn count(variables: &[Variable]) -> i64 {
    i64::try_from(variables.len()).unwrap_or(i64::MAX)
}

/// Writes the variables of a section from `start` (counted from 1) with the items asked for each.
fn describe(variables: &[Variable], start: i64, asked: &[u8], writer: &mut InfoWriter) {
    writer.integer(sql::DESCRIBE_VARS, count(variables));
    for (index, variable) in (1_i64..).zip(variables) {
        if writer.is_truncated() {
            return;
        }
        if index < start {
            continue;
        }
        for item in asked {
            let description = &variable.description;
            match *item {
                sql::SQLDA_SEQ => writer.integer(*item, index),
                sql::MESSAGE_SEQ => writer.bytes(*item, &[]),
                sql::NULL_IND => writer.integer(*item, i64::from(description.sql_type & 1)),
                sql::TYPE => writer.integer(*item, i64::from(description.sql_type)),
                sql::SUB_TYPE => writer.integer(*item, i64::from(description.sub_type)),
                sql::SCALE => writer.integer(*item, i64::from(description.scale)),
                sql::LENGTH => writer.integer(*item, i64::from(description.length)),
                sql::FIELD => writer.bytes(*item, &variable.field),
                sql::RELATION => writer.bytes(*item, &variable.relation),
                sql::RELATION_ALIAS => writer.bytes(*item, &variable.relation_alias),
                sql::OWNER => writer.bytes(*item, &variable.owner),
                sql::ALIAS => writer.bytes(*item, &variable.alias),
                sql::RELATION_SCHEMA => writer.bytes(*item, &variable.schema),
                _ => writer.unknown(*item),
            }
        }
        writer.bare(sql::DESCRIBE_END);
    }
}

fn set(variable: &mut Variable, item: u8, value: &[u8], number: i64) {
    let description = &mut variable.description;
    match item {
        sql::TYPE => description.sql_type = u16::try_from(number).unwrap_or(0),
        sql::SUB_TYPE => description.sub_type = i32::try_from(number).unwrap_or(0),
        sql::SCALE => description.scale = i32::try_from(number).unwrap_or(0),
        sql::LENGTH => description.length = u32::try_from(number).unwrap_or(0),
        sql::FIELD => variable.field = value.to_vec(),
        sql::RELATION => variable.relation = value.to_vec(),
        sql::RELATION_ALIAS => variable.relation_alias = value.to_vec(),
        sql::OWNER => variable.owner = value.to_vec(),
        sql::ALIAS => variable.alias = value.to_vec(),
        sql::RELATION_SCHEMA => variable.schema = value.to_vec(),
        _ => {}
    }
}

impl RecordCounts {
    fn to_bytes(self) -> Vec<u8> {
        use super::request::{REQ_DELETE_COUNT, REQ_INSERT_COUNT, REQ_SELECT_COUNT, REQ_UPDATE_COUNT};
        let counts = [
            (REQ_UPDATE_COUNT, self.updated),
            (REQ_DELETE_COUNT, self.deleted),
            (REQ_SELECT_COUNT, self.selected),
            (REQ_INSERT_COUNT, self.inserted),
        ];
        let mut out = Vec::new();
        for (item, count) in counts {
            out.extend_from_slice(&[item, 4, 0]);
            out.extend_from_slice(&count.to_le_bytes());
        }
        out.push(common::END);
        out
    }

    fn from_bytes(bytes: &[u8]) -> Result<RecordCounts, DecodeError> {
        use super::request::{REQ_DELETE_COUNT, REQ_INSERT_COUNT, REQ_SELECT_COUNT, REQ_UPDATE_COUNT};
        let mut counts = RecordCounts::default();
        for item in InfoReader::new(bytes) {
            let item = item?;
            let count = item.integer().and_then(|count| u32::try_from(count).ok()).unwrap_or(0);
            match item.item {
                REQ_UPDATE_COUNT => counts.updated = count,
                REQ_DELETE_COUNT => counts.deleted = count,
                REQ_SELECT_COUNT => counts.selected = count,
                REQ_INSERT_COUNT => counts.inserted = count,
                _ => {}
            }
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::statement_type;
    use crate::message::sql_type;

    const ITEMS: &[u8] = &[
        sql::STMT_TYPE,
        sql::STMT_FLAGS,
        sql::BIND,
        sql::DESCRIBE_VARS,
        sql::SQLDA_SEQ,
        sql::TYPE,
        sql::SUB_TYPE,
        sql::SCALE,
        sql::LENGTH,
        sql::FIELD,
        sql::ALIAS,
        sql::DESCRIBE_END,
        sql::SELECT,
        sql::DESCRIBE_VARS,
        sql::SQLDA_SEQ,
        sql::TYPE,
        sql::SUB_TYPE,
        sql::SCALE,
        sql::LENGTH,
        sql::FIELD,
        sql::ALIAS,
        sql::DESCRIBE_END,
        sql::RECORDS,
        common::END,
    ];

    fn statement() -> StatementInformation {
        let column = |name: &str| Variable {
            field: name.into(),
            alias: name.into(),
            ..Variable::unnamed(SqlDescription {
                sql_type: sql_type::LONG + 1,
                sub_type: 0,
                scale: -2,
                length: 4,
            })
        };
        StatementInformation {
            statement_type: u32::from(statement_type::SELECT),
            flags: 3,
            inputs: vec![
                Variable::unnamed(SqlDescription {
                    sql_type: sql_type::VARYING,
                    sub_type: 4,
                    scale: 0,
                    length: 40,
                });
                2
            ],
            outputs: vec![column("ID"), column("PRICE"), column("QUANTITY")],
            records: Some(RecordCounts { selected: 1, inserted: 2, updated: 3, deleted: 4 }),
            ..StatementInformation::default()
        }
    }

    #[test]
    fn a_description_is_read_as_it_was_written() {
        let mut read = StatementInformation::default();
        let reply = statement().reply(ITEMS, BufferLength(65_000));
        assert_eq!(&reply[..7], [21, 4, 0, 1, 0, 0, 0]);
        assert_eq!(read.read(&reply), Ok(None));
        assert_eq!(read, statement());
    }

    #[test]
    fn whatever_the_room_the_whole_description_arrives_in_pieces() {
        let wanted = statement();
        for room in 130..500 {
            let mut read = StatementInformation::default();
            let mut items = ITEMS.to_vec();
            let mut rounds = 0;
            loop {
                let reply = wanted.reply(&items, BufferLength(room));
                assert!(reply.len() <= room as usize);
                let Some(Continuation { section, from }) = read.read(&reply).unwrap() else { break };
                let start = |from: u32| {
                    let from = u16::try_from(from).unwrap().to_le_bytes();
                    [&[sql::SQLDA_START, 2][..], &from].concat()
                };
                let place = |mark| ITEMS.iter().position(|item| *item == mark).unwrap();
                let (bind, select) = (place(sql::BIND), place(sql::SELECT));
                items = match section {
                    // The start holds for all that follows: the columns need their own.
                    Section::Inputs => {
                        [&start(from)[..], &ITEMS[bind..select], &start(1), &ITEMS[select..]].concat()
                    }
                    Section::Outputs => [&start(from)[..], &ITEMS[select..]].concat(),
                };
                rounds += 1;
                assert!(rounds < 20, "room {room}");
            }
            assert_eq!(read, wanted, "room {room}");
        }
    }

    /// rsfbclient says once where both sections shall start, and goes on from there until nothing is truncated.
    #[test]
    fn a_start_in_front_of_all_sections_holds_for_all() {
        let section =
            [sql::DESCRIBE_VARS, sql::SQLDA_SEQ, sql::NULL_IND, sql::MESSAGE_SEQ, sql::DESCRIBE_END];
        let items =
            [&[sql::SQLDA_START, 2, 2, 0, sql::BIND][..], &section, &[sql::SELECT], &section].concat();
        let reply = statement().reply(&items, BufferLength(1_000));
        let number = |item, n: u8| [item, 4, 0, n, 0, 0, 0];
        let variable = |index, nullable| {
            [&number(sql::SQLDA_SEQ, index)[..], &number(sql::NULL_IND, nullable), &[sql::MESSAGE_SEQ, 0, 0]]
                .concat()
        };
        let expected = [
            &[sql::BIND][..],
            &number(sql::DESCRIBE_VARS, 2),
            &variable(2, 0),
            &[sql::DESCRIBE_END, sql::SELECT],
            &number(sql::DESCRIBE_VARS, 3),
            &variable(2, 1),
            &[sql::DESCRIBE_END],
            &variable(3, 1),
            &[sql::DESCRIBE_END, common::END],
        ];
        assert_eq!(reply, expected.concat());
    }

    #[test]
    fn variables_of_no_section_and_a_start_cut_short_are_refused() {
        let reply = |items: &[u8]| statement().reply(items, BufferLength(100));
        assert_eq!(
            reply(&[sql::DESCRIBE_VARS, common::END]),
            [3, 5, 0, sql::DESCRIBE_VARS, 0x15, 0, 0, 0x14, 1]
        );
        let [a, b, c, d] = isc::INF_INVALID_ARGS.to_le_bytes();
        assert_eq!(reply(&[sql::SQLDA_START, 2, 1]), [3, 5, 0, sql::SQLDA_START, a, b, c, d, 1]);
    }

    #[test]
    fn a_plan_that_does_not_fit_is_cut_at_a_space() {
        let plan = b"\nPLAN JOIN (T NATURAL, U INDEX (RDB$PRIMARY2))";
        let information =
            StatementInformation { plan: Some(plan.to_vec()), ..StatementInformation::default() };
        let told = |room: u32| {
            let reply = information.reply(&[sql::GET_PLAN, sql::STMT_TYPE], BufferLength(room));
            assert!(reply.len() <= room as usize);
            let mut read = StatementInformation::default();
            let is_truncated = read.read(&reply).unwrap().is_some();
            (read.plan.map(|plan| String::from_utf8(plan).unwrap()), is_truncated)
        };
        assert_eq!(told(1_000), (Some(String::from_utf8_lossy(plan).into_owned()), false));
        assert_eq!(told(30), (Some("\nPLAN JOIN (T NATURAL, ...".to_owned()), true));
        assert_eq!(told(14), (Some("\nPLAN ...".to_owned()), true));
        assert_eq!(told(8), (None, true));
    }

    #[test]
    fn unknown_items_and_items_without_content() {
        let reply =
            StatementInformation::default().reply(&[sql::GET_PLAN, 200, sql::RECORDS], BufferLength(100));
        assert_eq!(reply, [3, 5, 0, 200, 0x15, 0, 0, 0x14, 1]);
    }
}
