//! What a connection has done with the rows of tables.

use std::collections::BTreeMap;

use farbird_engine::attachment::Attachment;
use farbird_engine::store_figures::RecordCounter;

/// How many rows of a table were read and changed, in the sense of MON$RECORD_STATS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableCounts {
    /// Read in the order of the table.
    pub natural: u64,
    /// Read by an index.
    pub indexed: u64,
    /// Inserted.
    pub inserted: u64,
    /// Updated.
    pub updated: u64,
    /// Deleted.
    pub deleted: u64,
    /// Changes that were taken back.
    pub backed_out: u64,
    /// Old versions removed on the way: none here.
    pub purged: u64,
    /// Deleted rows removed on the way: none here.
    pub expunged: u64,
}

/// What an attachment has done so far, by RDB$RELATION_ID.
pub(super) fn of(attachment: &Attachment) -> BTreeMap<u32, TableCounts> {
    let relations = attachment.counted().relations().into_iter();
    let counts = relations.map(|(relation, counters)| {
        let counts = TableCounts {
            natural: counters.get(RecordCounter::SeqReads),
            indexed: counters.get(RecordCounter::IdxReads),
            inserted: counters.get(RecordCounter::Inserts),
            updated: counters.get(RecordCounter::Updates),
            deleted: counters.get(RecordCounter::Deletes),
            backed_out: counters.get(RecordCounter::Backouts),
            purged: counters.get(RecordCounter::Purges),
            expunged: counters.get(RecordCounter::Expunges),
        };
        (relation.0, counts)
    });
    counts.collect()
}
