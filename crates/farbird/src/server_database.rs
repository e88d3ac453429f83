//! A database of a server as a backup in gbak's format reads it: any server that speaks the Firebird protocol.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Read;
use std::sync::Arc;

use farbird_client::blocking::Connection;
use farbird_client::{
    ArrayColumn as DescribedArray, ConnectOptions, Isolation, Transaction, TransactionOptions,
};
use farbird_engine::backup::CancelFlag;
use farbird_engine::gbak::write::{ArrayColumn, BlobShape, BlobSink, Database, RowVisitor};
use farbird_types::{BlobId, Error, Value, isc};

/// Bytes of a segment: a server does not tell how its BLOBs are cut.
const SEGMENT_BYTES: u16 = 32_000;

/// An attachment with one snapshot, for reading.
pub(crate) struct ServerDatabase {
    connection: Connection,
    transaction: Transaction,
    cancel: Arc<CancelFlag>,
    /// The arrays that were asked for until now, by table and column.
    arrays: RefCell<HashMap<(String, String), DescribedArray>>,
}

impl ServerDatabase {
    /// Attaches, and begins the snapshot.
    pub(crate) fn open(
        address: &str,
        options: ConnectOptions,
        cancel: &Arc<CancelFlag>,
    ) -> anyhow::Result<ServerDatabase> {
        // Texts come as they are stored.
        let mut options = ConnectOptions { character_set: "NONE".to_owned(), ..options };
        // Whoever reads a database for a backup changes nothing in it, as with gbak.
        options.attach.no_database_triggers = true;
        let connection = Connection::attach(address, &options)
            .map_err(|error| anyhow::anyhow!("cannot open {address}: {}", error.message()))?;
        let snapshot = TransactionOptions {
            isolation: Isolation::Snapshot,
            read_only: true,
            ..TransactionOptions::default()
        };
        let transaction = connection.begin(&snapshot)?;
        let arrays = RefCell::default();
        Ok(ServerDatabase { connection, transaction, cancel: Arc::clone(cancel), arrays })
    }

    /// Takes leave.
    pub(crate) fn close(self) -> Result<(), Error> {
        self.connection.commit(self.transaction)?;
        self.connection.close()
    }

    fn check_interrupted(&self) -> Result<(), Error> {
        if self.cancel.is_raised() { Err(Error::new(isc::CANCELLED)) } else { Ok(()) }
    }
}

impl Database for ServerDatabase {
    type Error = anyhow::Error;

    fn query(&self, sql: &str, row: &mut RowVisitor<'_, anyhow::Error>) -> anyhow::Result<()> {
        let statement = self.connection.prepare(&self.transaction, sql)?;
        for values in self.connection.query(&self.transaction, &statement, &[])? {
            self.check_interrupted()?;
            row(&values?.to_values())?;
        }
        Ok(())
    }

    fn blob(&self, id: BlobId, bytes: u64, sink: &mut dyn BlobSink<anyhow::Error>) -> anyhow::Result<()> {
        let mut reader = self.connection.open_blob(&self.transaction, id)?;
        let segments = bytes.div_ceil(SEGMENT_BYTES.into());
        let longest = u16::try_from(bytes).unwrap_or(SEGMENT_BYTES).min(SEGMENT_BYTES);
        sink.begin(BlobShape { stream: false, segments, longest })?;
        let mut segment = vec![0; longest.into()];
        let mut left = bytes;
        while left > 0 {
            self.check_interrupted()?;
            let length = usize::try_from(left).unwrap_or(usize::MAX).min(segment.len());
            let piece = segment.get_mut(..length).unwrap_or_default();
            reader.read_exact(piece)?;
            sink.segment(piece)?;
            left -= length as u64;
        }
        if reader.read(&mut [0])? > 0 {
            anyhow::bail!("a blob is longer than its server said");
        }
        Ok(())
    }

    fn array(&self, id: BlobId, column: ArrayColumn<'_>) -> anyhow::Result<Vec<Value>> {
        self.check_interrupted()?;
        let mut known = self.arrays.borrow_mut();
        let key = (column.relation.to_owned(), column.name.to_owned());
        let described = match known.entry(key) {
            Entry::Occupied(described) => described.into_mut(),
            Entry::Vacant(place) => {
                place.insert(self.connection.array_column(&self.transaction, column.relation, column.name)?)
            }
        };
        Ok(self.connection.read_array(&self.transaction, described, id)?.elements().to_vec())
    }
}
