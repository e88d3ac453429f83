//! The information calls: database, transaction, statement, cursor, BLOB.
//!
//! Source: wire-protocol.md, 6.6, 7.6 and 11.6.

use farbird_engine::api::{BlobFacts, ColumnDescription, Isolation, StatementHandle, StatementKind};
use farbird_engine::attachment::Attachment;
use farbird_engine::check::DamageKind;
use farbird_engine::engine::CommitName;
use farbird_engine::store_figures::RecordCounter;
use farbird_types::{CharacterSet, ColumnType, Error, Result, SqlType, isc};
use farbird_wire::info::{
    InfoWriter, RecordCounts, StatementInformation, Variable, blob, common, cursor, database, farlink,
    transaction,
};
use farbird_wire::message::{SqlDescription, sql_type};
use farbird_wire::packet::{BufferLength, Information, Response};

use super::Session;
use super::convert;
use crate::version;

/// Code of 64-bit Linux on x86 and on ARM (isc_info_db_impl_*).
const IMPLEMENTATION: u8 = if cfg!(target_arch = "aarch64") { 84 } else { 66 };
/// isc_info_db_class_server_access.
const CLASS_SERVER: u8 = 14;
/// isc_info_db_class_access: the entry of the engine itself.
const CLASS_ACCESS: u8 = 1;
/// Processor, operating system, compiler and byte order in fb_info_implementation: as Firebird numbers them.
const PLATFORM: [u8; 4] = [if cfg!(target_arch = "aarch64") { 15 } else { 1 }, 1, 1, 0];
/// isc_info_db_class_rem_srvr: the entry of the remote layer.
const CLASS_REMOTE_SERVER: u8 = 4;
/// On-disk structure that goes with Firebird 5.0: tools choose their queries by it.
const ODS: (i64, i64) = (13, 1);
/// isc_info_db_code_firebird.
const PROVIDER_FIREBIRD: i64 = 4;
/// fb_info_features: multiple statements and transactions, session reset, read consistency, statement timeouts,
/// long-lived statements.
const FEATURES: &[u8] = &[1, 2, 4, 5, 6, 7];
/// isc_bpb_type: room for the items of an inline BLOB; fbclient takes no more than 64 bytes.
const INLINE_BLOB_ROOM: BufferLength = BufferLength(64);

impl Session {
    pub(super) fn database_information(&mut self, information: &Information) -> Result<Response> {
        let room = information.buffer_length;
        let mut writer = InfoWriter::new(room);
        if let [farlink::ATTACHED_BY, process_id @ ..] = &*information.items
            && self.is_ahead
        {
            let process_id = process_id.first_chunk().map(|bytes| i32::from_le_bytes(*bytes));
            self.attachment()?.begin_taken(process_id);
            self.is_ahead = false;
            return Ok(Response::success());
        }
        for item in &information.items {
            if *item == common::END {
                break;
            }
            self.database_item(*item, &mut writer)?;
        }
        Ok(Response::data(information.object, writer.finish()))
    }

    fn database_item(&mut self, item: u8, writer: &mut InfoWriter) -> Result<()> {
        let line = self.line.clone();
        let counters = self.output.counters();
        let inline = self.inline_blob_bytes_max;
        let protocol = self.output.version();
        let attachment = self.attachment()?;
        let session = attachment.session();
        let catalog = attachment.database().catalog();
        let properties = &catalog.database;
        let statistics = || attachment.database().store.statistics();
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        match item {
            database::DB_ID => {
                let path = attachment.shown_path();
                writer.bytes(item, &counted(&[path.as_bytes(), line.host.as_bytes()]));
            }
            database::ISC_VERSION => writer.bytes(item, &counted(&[version::ISC_VERSION.as_bytes()])),
            database::FIREBIRD_VERSION => {
                let flags = match (line.encrypted, line.compressed) {
                    (false, false) => "",
                    (true, false) => ":C",
                    (false, true) => ":Z",
                    (true, true) => ":CZ",
                };
                let remote = format!(
                    "{}/tcp ({})/P{}{flags}",
                    version::FIREBIRD_VERSION,
                    line.host,
                    protocol.number()
                );
                writer.bytes(item, &counted(&[version::FIREBIRD_VERSION.as_bytes(), remote.as_bytes()]));
            }
            database::IMPLEMENTATION => {
                writer.bytes(item, &[2, IMPLEMENTATION, CLASS_ACCESS, IMPLEMENTATION, CLASS_REMOTE_SERVER]);
            }
            database::FB_IMPLEMENTATION => {
                // Number of layers; each with its platform, its class, and its depth.
                let [cpu, os, compiler, order] = PLATFORM;
                let layer = |class, depth| [cpu, os, compiler, order, class, depth];
                let layers = [layer(CLASS_ACCESS, 0), layer(CLASS_REMOTE_SERVER, 1)].concat();
                writer.bytes(item, &[&[2], layers.as_slice()].concat());
            }
            database::BASE_LEVEL => writer.bytes(item, &[2, 6, 1]),
            database::PAGE_SIZE => writer.integer(item, i64::from(properties.page_size)),
            database::NUM_BUFFERS | database::SET_PAGE_BUFFERS => {
                let buffers = attachment.database().page_buffers(properties.page_size.into());
                writer.integer(item, number(buffers));
            }
            database::ODS_VERSION => writer.integer(item, ODS.0),
            database::ODS_MINOR_VERSION => writer.integer(item, ODS.1),
            database::ATTACHMENT_ID => writer.integer(item, number(session.id)),
            database::DB_SQL_DIALECT => writer.bytes(item, &[properties.dialect]),
            database::DB_READ_ONLY => writer.integer(item, i64::from(properties.read_only)),
            database::ATT_CHARSET => writer.integer(item, i64::from(session.options.character_set.0)),
            database::DB_CLASS => writer.integer(item, i64::from(CLASS_SERVER)),
            database::DB_PROVIDER => writer.integer(item, PROVIDER_FIREBIRD),
            database::FORCED_WRITES => writer.integer(item, 1),
            database::SWEEP_INTERVAL => writer.integer(item, i64::from(properties.sweep_interval)),
            // One item for each.
            database::LIMBO => {
                for id in attachment.prepared_transactions() {
                    writer.integer(item, number(id));
                }
            }
            database::PAGE_ERRORS => errors_found(attachment, item, DamageKind::Pages, writer),
            database::RECORD_ERRORS => errors_found(attachment, item, DamageKind::Rows, writer),
            database::BPAGE_ERRORS => errors_found(attachment, item, DamageKind::Blobs, writer),
            database::IPAGE_ERRORS => errors_found(attachment, item, DamageKind::Indexes, writer),
            // Pages of kinds that there are not.
            database::DPAGE_ERRORS | database::PPAGE_ERRORS | database::TPAGE_ERRORS
                if attachment.verification().is_some() =>
            {
                writer.integer(item, 0);
            }
            database::NO_RESERVE
            | database::ALLOCATION
            | database::REPLICA_MODE
            | database::CRYPT_STATE
            | database::SES_IDLE_TIMEOUT_DB
            | database::STATEMENT_TIMEOUT_DB => writer.integer(item, 0),
            database::READS => writer.integer(item, number(attachment.database_pages().reads)),
            database::WRITES => writer.integer(item, number(attachment.database_pages().writes)),
            database::FETCHES => writer.integer(item, number(attachment.database_pages().fetches)),
            database::MARKS => writer.integer(item, number(attachment.database_pages().marks)),
            database::CURRENT_MEMORY | database::MAX_MEMORY => writer.integer(item, 0),
            database::READ_SEQ_COUNT
            | database::READ_IDX_COUNT
            | database::INSERT_COUNT
            | database::UPDATE_COUNT
            | database::DELETE_COUNT
            | database::BACKOUT_COUNT
            | database::PURGE_COUNT
            | database::EXPUNGE_COUNT => writer.bytes(item, &table_counts(attachment, item)),
            database::SES_IDLE_TIMEOUT_ATT | database::SES_IDLE_TIMEOUT_RUN => {
                writer.integer(item, i64::from(session.interrupt.idle.seconds()));
            }
            database::STATEMENT_TIMEOUT_ATT => {
                let timeout = session.settings.lock().statement_timeout.unwrap_or_default();
                writer.integer(item, i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX));
            }
            database::OLDEST_TRANSACTION => writer.integer(item, number(statistics().oldest_transaction.0)),
            database::OLDEST_ACTIVE => writer.integer(item, number(statistics().oldest_active.0)),
            database::OLDEST_SNAPSHOT => writer.integer(item, number(statistics().oldest_snapshot.0)),
            database::NEXT_TRANSACTION => writer.integer(item, number(statistics().next_transaction.0)),
            database::ACTIVE_TRAN_COUNT => writer.integer(item, number(statistics().active.len() as u64)),
            database::ACTIVE_TRANSACTIONS => {
                for active in statistics().active {
                    writer.integer(item, number(active.id.0));
                }
            }
            database::DB_SIZE_IN_PAGES | database::PAGES_USED => {
                writer.integer(item, number(file_bytes(attachment) / u64::from(properties.page_size.max(1))));
            }
            database::PAGES_FREE => writer.integer(item, 0),
            database::DB_FILE_SIZE => writer.integer(item, number(file_bytes(attachment))),
            database::USER_NAMES => {
                for user in attachment.database().attachments.lock().values() {
                    let name = user.options.user.as_bytes();
                    writer.bytes(item, &counted(&[name])[1..]);
                }
            }
            database::USERNAME => writer.bytes(item, session.options.user.as_bytes()),
            database::SQLROLE => {
                let role = session.settings.lock().role.clone().unwrap_or_else(|| "NONE".to_owned());
                writer.bytes(item, role.as_bytes());
            }
            database::DB_GUID => writer.bytes(item, properties.guid.as_bytes()),
            database::DB_FILE_ID => writer.bytes(item, properties.guid.as_bytes()),
            database::CREATION_DATE => writer.bytes(item, &creation_timestamp(properties.created_us)),
            database::WIRE_CRYPT => writer.bytes(item, line.cipher.as_bytes()),
            database::CONN_FLAGS => {
                writer.integer(item, i64::from(line.compressed) + 2 * i64::from(line.encrypted));
            }
            database::PROTOCOL_VERSION => writer.bytes(item, &protocol.number().to_le_bytes()),
            database::FEATURES => writer.bytes(item, FEATURES),
            database::PARALLEL_WORKERS => writer.integer(item, number(session.parallel_workers() as u64)),
            database::WIRE_OUT_PACKETS => writer.integer(item, number(counters.out_packets)),
            database::WIRE_IN_PACKETS => writer.integer(item, number(counters.in_packets)),
            database::WIRE_OUT_BYTES => writer.integer(item, number(counters.out_bytes)),
            database::WIRE_IN_BYTES => writer.integer(item, number(counters.in_bytes)),
            database::WIRE_SND_PACKETS => writer.integer(item, number(counters.send_packets)),
            database::WIRE_RCV_PACKETS => writer.integer(item, number(counters.receive_packets)),
            database::WIRE_SND_BYTES => writer.integer(item, number(counters.send_bytes)),
            database::WIRE_RCV_BYTES => writer.integer(item, number(counters.receive_bytes)),
            database::WIRE_ROUNDTRIPS => writer.integer(item, number(counters.round_trips)),
            database::MAX_INLINE_BLOB_SIZE => writer.integer(item, i64::from(inline)),
            farlink::DATABASE_NUMBER => writer.integer(item, i64::from(attachment.database().number)),
            farlink::COMMIT_POINT => {
                writer.integer(item, number(attachment.database().store.last_commit().0))
            }
            farlink::STRICT_TRANSACTIONS => {
                writer.bytes(item, &[u8::from(attachment.has_transaction_triggers())]);
            }
            _ => writer.unknown(item),
        }
        Ok(())
    }

    pub(super) fn transaction_information(&mut self, information: &Information) -> Result<Response> {
        let handle = self.objects.transaction(information.object)?;
        let attachment = self.attachment()?;
        if let [farlink::COMMIT_NAME, name @ ..] = &*information.items
            && let Ok(name) = <[u8; 16]>::try_from(name)
        {
            attachment.name_commit(handle, CommitName(name))?;
            return Ok(Response::success());
        }
        let facts = attachment.transaction_facts(handle)?;
        let path = attachment.shown_path();
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let mut writer = InfoWriter::new(information.buffer_length);
        for item in &information.items {
            match *item {
                common::END => break,
                transaction::TRA_ID => writer.integer(*item, number(facts.id)),
                transaction::TRA_OLDEST_INTERESTING => {
                    writer.integer(*item, number(facts.oldest_interesting))
                }
                transaction::TRA_OLDEST_SNAPSHOT => writer.integer(*item, number(facts.oldest_snapshot)),
                transaction::TRA_OLDEST_ACTIVE => writer.integer(*item, number(facts.oldest_active)),
                transaction::TRA_ISOLATION => match facts.parameters.isolation {
                    Isolation::TableStability => writer.bytes(*item, &[1]),
                    Isolation::Snapshot => writer.bytes(*item, &[2]),
                    Isolation::ReadCommitted => writer.bytes(*item, &[3, 2]),
                },
                transaction::TRA_ACCESS => writer.bytes(*item, &[u8::from(!facts.parameters.read_only)]),
                transaction::TRA_LOCK_TIMEOUT => {
                    let seconds =
                        facts.parameters.lock_timeout.map_or(-1, |timeout| number(timeout.as_secs()));
                    writer.integer(*item, seconds);
                }
                transaction::TRA_DBPATH => writer.bytes(*item, path.as_bytes()),
                transaction::TRA_SNAPSHOT_NUMBER => writer.integer(*item, number(facts.snapshot_number)),
                other => writer.unknown(other),
            }
        }
        Ok(Response::data(information.object, writer.finish()))
    }

    pub(super) fn blob_information(&mut self, information: &Information) -> Result<Response> {
        let handle = self.objects.blob(information.object)?;
        let facts = self.attachment()?.blob_facts(handle)?;
        let data = blob_items(&facts, &information.items, information.buffer_length);
        Ok(Response::data(information.object, data))
    }

    pub(super) fn statement_information_call(&mut self, information: &Information) -> Result<Response> {
        let engine = self.objects.statement(information.object)?.engine;
        if let [farlink::STATEMENT_READS, ..] = *information.items {
            let data = self.statement_reads(engine, information.buffer_length);
            return Ok(Response::data(information.object, data));
        }
        let data = self.statement_information(engine, &information.items, information.buffer_length.0)?;
        Ok(Response::data(information.object, data))
    }

    /// What an origin of a farlink asks of a prepared statement; it comes as the only item.
    fn statement_reads(&self, statement: StatementHandle, room: BufferLength) -> Vec<u8> {
        let reads = self.attachment.as_ref().and_then(|attachment| attachment.statement_reads(statement));
        let mut value = Vec::new();
        if let Some(relations) = reads {
            value.push(1);
            relations.iter().for_each(|relation| value.extend_from_slice(&relation.to_le_bytes()));
        }
        let mut writer = InfoWriter::new(room);
        writer.bytes(farlink::STATEMENT_READS, &value);
        writer.finish()
    }

    /// How many rows a scrollable cursor has; -1 for one that cannot scroll. As in Firebird an unknown item leaves
    /// nothing but its error (DsqlCursor.cpp, getInfo).
    pub(super) fn cursor_information(&mut self, information: &Information) -> Result<Response> {
        let statement = self.objects.statement(information.object)?;
        let engine = statement.engine;
        let cursor = statement.cursor.as_ref().ok_or_else(|| Error::new(isc::DSQL_CURSOR_ERR))?;
        let scrolls = cursor.can_scroll();
        let mut writer = InfoWriter::new(information.buffer_length);
        for item in information.items.iter().take_while(|item| **item != common::END) {
            if *item != cursor::RECORD_COUNT {
                writer = InfoWriter::new(information.buffer_length);
                writer.integer(common::ERROR, i64::from(isc::INFUNK));
                break;
            }
            let rows = match scrolls {
                true => i64::try_from(self.attachment()?.cursor_rows(engine)?).unwrap_or(i64::MAX),
                false => -1,
            };
            writer.integer(*item, rows);
        }
        Ok(Response::data(information.object, writer.finish()))
    }
}

/// Tables of which the attachment has done something, each with how many rows: numbers of 2 bytes, counts of 4 (of 8, if they must).
fn table_counts(attachment: &Attachment, item: u8) -> Vec<u8> {
    let counter = match item {
        database::READ_SEQ_COUNT => RecordCounter::SeqReads,
        database::READ_IDX_COUNT => RecordCounter::IdxReads,
        database::INSERT_COUNT => RecordCounter::Inserts,
        database::UPDATE_COUNT => RecordCounter::Updates,
        database::DELETE_COUNT => RecordCounter::Deletes,
        database::BACKOUT_COUNT => RecordCounter::Backouts,
        database::PURGE_COUNT => RecordCounter::Purges,
        _ => RecordCounter::Expunges,
    };
    let mut bytes = Vec::new();
    for (relation, counters) in attachment.counted().relations() {
        let (Ok(relation), count @ 1..) = (u16::try_from(relation.0), counters.get(counter)) else {
            continue;
        };
        bytes.extend(relation.to_le_bytes());
        match i32::try_from(count) {
            Ok(count) => bytes.extend(count.to_le_bytes()),
            Err(_) => bytes.extend(count.to_le_bytes()),
        }
    }
    bytes
}

/// How many errors of a kind the check has found that this attachment has asked for. Firebird knows nothing without one.
fn errors_found(attachment: &Attachment, item: u8, kind: DamageKind, writer: &mut InfoWriter) {
    match attachment.verification() {
        Some(report) => writer.integer(item, i64::try_from(report.errors(kind)).unwrap_or(i64::MAX)),
        None => writer.unknown(item),
    }
}

/// What prepare and op_info_sql answer.
pub(super) fn statement(
    attachment: &Attachment,
    statement: StatementHandle,
    items: &[u8],
    buffer_length: u32,
    character_set: CharacterSet,
) -> Result<Vec<u8>> {
    let description = attachment.describe(statement)?;
    let encoded =
        |text: &str| character_set.encode(text).map_or_else(|_| text.into(), |bytes| bytes.into_owned());
    let variable = |column: &ColumnDescription| {
        let name = &encoded;
        Variable {
            field: name(&column.field),
            relation: name(&column.relation),
            relation_alias: name(&column.relation_alias),
            owner: name(&column.owner),
            alias: name(&column.alias),
            ..Variable::unnamed(shown(attachment, &column.column_type, character_set))
        }
    };
    let counts = attachment.record_counts(statement)?;
    let number = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let plan = |text: &str| (!text.is_empty()).then(|| encoded(&format!("\n{text}")));
    let information = StatementInformation {
        statement_type: description.kind as u32,
        flags: u32::from(description.has_cursor) + 2 * u32::from(is_repeatable(description.kind)),
        inputs: description.parameters.iter().map(variable).collect(),
        outputs: description.columns.iter().map(variable).collect(),
        plan: plan(&description.plan),
        explained_plan: plan(&description.explained_plan),
        records: (!matches!(description.kind, StatementKind::Ddl)).then(|| RecordCounts {
            selected: number(counts.selected),
            inserted: number(counts.inserted),
            updated: number(counts.updated),
            deleted: number(counts.deleted),
        }),
        batch_fetch: description.kind != StatementKind::SelectForUpdate,
        ..StatementInformation::default()
    };
    Ok(information.reply(items, BufferLength(buffer_length)))
}

/// A type as the client is shown it: in the connection's character set, then as SET BIND has it.
fn shown(attachment: &Attachment, column: &ColumnType, character_set: CharacterSet) -> SqlDescription {
    let shown = attachment.shown_type(convert::described(column, character_set));
    let description = SqlDescription::of(&shown.column_type);
    if !shown.extended {
        return description;
    }
    let extended = match shown.column_type.sql_type {
        SqlType::TimeTz => sql_type::TIME_TZ_EX,
        _ => sql_type::TIMESTAMP_TZ_EX,
    };
    SqlDescription { sql_type: extended + u16::from(shown.column_type.nullable), ..description }
}

/// Whether a statement may be executed again (IStatement::FLAG_REPEAT_EXECUTE).
fn is_repeatable(kind: StatementKind) -> bool {
    kind != StatementKind::Ddl
}

/// The items that travel with an inline BLOB.
pub(super) fn inline_blob(facts: &BlobFacts) -> Vec<u8> {
    let items = [blob::NUM_SEGMENTS, blob::MAX_SEGMENT, blob::TOTAL_LENGTH, blob::TYPE];
    blob_items(facts, &items, INLINE_BLOB_ROOM)
}

fn blob_items(facts: &BlobFacts, items: &[u8], room: BufferLength) -> Vec<u8> {
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let mut writer = InfoWriter::new(room);
    for item in items {
        match *item {
            common::END => break,
            blob::NUM_SEGMENTS => writer.integer(*item, number(facts.segments)),
            blob::MAX_SEGMENT => writer.integer(*item, i64::from(facts.longest_segment)),
            blob::TOTAL_LENGTH => writer.integer(*item, number(facts.total_bytes)),
            blob::TYPE => writer.bytes(*item, &[u8::from(facts.stream)]),
            other => writer.unknown(other),
        }
    }
    writer.finish()
}

/// A counted list: the number of texts, then each behind its length. Texts are cut at 255 bytes.
fn counted(texts: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![u8::try_from(texts.len()).unwrap_or(u8::MAX)];
    for text in texts {
        let length = u8::try_from(text.len()).unwrap_or(u8::MAX);
        out.push(length);
        out.extend_from_slice(text.get(..usize::from(length)).unwrap_or(text));
    }
    out
}

fn file_bytes(attachment: &Attachment) -> u64 {
    std::fs::metadata(&attachment.database().path).map_or(0, |file| file.len())
}

/// A timestamp as two little-endian words: day and ten-thousandths of a second.
fn creation_timestamp(created_us: i64) -> Vec<u8> {
    let timestamp = farbird_engine::clock::timestamp_of_us(created_us);
    [timestamp.date.0.to_le_bytes(), timestamp.time.0.to_le_bytes()].concat()
}
