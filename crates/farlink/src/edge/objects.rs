//! The handles that a program sees, and what they stand for.
//!
//! As servers do, a new object takes the lowest free number; 0xFFFF means the one that was made last. What is made before the program
//! asks for it takes a number that no program is ever given: clients foretell theirs.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

use farbird_types::BlobId;
use farbird_wire::packet::{Execute, Output};
use farbird_wire::protocol::{HANDLES_MAX, Handle};

use super::blob_contents::{Contents, Place};
use super::cursors::Rows;
use super::information::Kept;
use super::record::Standing;
use super::spill::Outside;
use super::statement_cache::{Described, Key};
use crate::message::{Answered, BlobFacts, Cursor, Fingerprint, Question, Relation, RequestId};

/// Between the last handle of a program and "the latest".
const RESERVED: RangeInclusive<u16> = HANDLES_MAX + 1..=Handle::LATEST.0 - 1;

/// What a handle stands for.
#[derive(Debug)]
pub(super) enum Object {
    Transaction(Box<Transaction>),
    Statement(Box<Statement>),
    Blob(Box<Blob>),
    /// A BLR request, or something that is being made.
    Other,
}

/// A transaction of the program.
#[derive(Debug, Default)]
pub(super) struct Transaction {
    /// How its end is to be answered is the server's affair: nobody here knows all about it.
    pub(super) is_opaque: bool,
    /// Whether the first phase of a two-phase commit was asked for: it may be in limbo then if its session ends.
    pub(super) is_prepared: bool,
    /// Whether it may have changed something.
    pub(super) wrote: bool,
    /// Whether it may have changed definitions.
    pub(super) redefined: bool,
    /// Whether it has executed what is known to change nothing; there is nothing of the kind where transactions have triggers.
    pub(super) ran_pure: bool,
    /// Whether writes of it were answered before they were done.
    pub(super) is_optimistic: bool,
    /// Whether a write of it has failed that was answered as done, as far as is known here.
    pub(super) has_failed_write: bool,
    /// How often it was asked to undo what it has written.
    pub(super) undone: u32,
    /// What the server has said of it and stays.
    pub(super) information: Kept,
    /// Contents of BLOBs that came with rows.
    pub(super) blobs: HashMap<u64, KeptBlob>,
    /// Those of them that are in memory, in the order in which they came.
    pub(super) blob_order: VecDeque<u64>,
    /// BLOBs made before the program asks for them.
    pub(super) spares: VecDeque<Spare>,
    /// How many BLOBs the program has made.
    pub(super) created: usize,
}

/// The contents of a BLOB that came with its row.
#[derive(Debug)]
pub(super) enum KeptBlob {
    Inside(Arc<Contents>),
    /// Outside of memory: as they came.
    Outside(BlobFacts, Outside),
}

impl KeptBlob {
    /// Memory that it takes.
    pub(super) fn memory(&self) -> usize {
        match self {
            KeptBlob::Inside(contents) => contents.memory(),
            KeptBlob::Outside(..) => 0,
        }
    }
}

/// A BLOB that nobody has asked for yet.
#[derive(Debug)]
pub(super) struct Spare {
    /// A reserved one.
    pub(super) handle: u16,
    pub(super) id: RequestId,
    pub(super) bpb: Vec<u8>,
    /// Its id, once it is known.
    pub(super) blob: Option<BlobId>,
}

/// A statement of the program.
#[derive(Debug, Default)]
pub(super) struct Statement {
    /// What is prepared.
    pub(super) described: Option<Arc<Described>>,
    /// What the origin has told of it, if it came before the reply.
    pub(super) told: Option<(Fingerprint, Option<Vec<Relation>>)>,
    /// Whether it has a cursor's name: rows are not to run ahead of UPDATE ... WHERE CURRENT OF.
    pub(super) is_named: bool,
    /// Why its cursor could not be opened: servers keep that for the fetch of a client that does not wait for op_execute.
    pub(super) failure: Option<Vec<u8>>,
    pub(super) cursor: CursorPlace,
    /// Which of the program's requests has executed it at the server last.
    pub(super) executed_by: u64,
    /// Which request was its first op_fetch, and for how many rows.
    pub(super) fetched_by: (u64, u16),
    /// What was asked about that execution before the program asks it.
    pub(super) foreseen: Option<Foreseen>,
    /// Its last execution, if the server has not seen it.
    pub(super) local: Option<Box<LocalExecution>>,
    /// Described as others of this shape are: the server has not seen its text.
    pub(super) shape: Option<Box<Key>>,
    /// Described from the cache: the server prepares it when it is first needed.
    pub(super) is_prepared_later: bool,
    /// Whether it was executed in an earlier session alone, if at all.
    pub(super) is_again: bool,
}

/// An execution that was answered by what was run ahead.
#[derive(Debug)]
pub(super) struct LocalExecution {
    pub(super) execute: Execute,
    /// What the server says about it.
    pub(super) answered: Option<Answered>,
    /// Its rows, as the program fetches them, and how many it has asked for.
    pub(super) output: Option<Output>,
    pub(super) wanted_rows: u16,
    /// How many it has.
    pub(super) rows: u32,
}

/// A question that the program is expected to ask, asked already.
#[derive(Debug)]
pub(super) struct Foreseen {
    pub(super) id: RequestId,
    pub(super) question: Question,
    /// The reply, once it is here.
    pub(super) packets: Option<Vec<u8>>,
}

/// Where a statement's cursor is.
#[derive(Debug, Default)]
pub(super) enum CursorPlace {
    /// Not open.
    #[default]
    None,
    /// At the server, row by row.
    Server { transaction: u16 },
    /// Its rows are pushed.
    Pushed(Box<Rows>),
}

impl CursorPlace {
    pub(super) fn transaction(&self) -> Option<u16> {
        match self {
            CursorPlace::None => None,
            CursorPlace::Server { transaction } => Some(*transaction),
            CursorPlace::Pushed(rows) => Some(rows.transaction),
        }
    }
}

/// An open BLOB of the program.
#[derive(Debug)]
pub(super) struct Blob {
    pub(super) transaction: u16,
    pub(super) kind: BlobKind,
    /// The reserved handle by which the origin knows it, if it was made before the program asked for it.
    pub(super) reserved: Option<u16>,
}

#[derive(Debug)]
pub(super) enum BlobKind {
    /// Asked for by this request, which is not answered.
    Asked(RequestId),
    /// At the server.
    Server,
    /// Being written.
    Written,
    /// Its contents are here.
    Held { contents: Arc<Contents>, place: Place },
    /// Its contents come.
    Coming(Box<Coming>),
}

/// A BLOB whose contents are pushed.
#[derive(Debug)]
pub(super) struct Coming {
    pub(super) cursor: Cursor,
    /// The op_open_blob, should it have to be read again from its start.
    pub(super) packet: Vec<u8>,
    pub(super) contents: Contents,
    pub(super) place: Place,
    /// Bytes that were credited and have not come.
    pub(super) credit: usize,
    /// Bytes that came since credit was given last.
    pub(super) came: usize,
}

/// All objects of a program. Place 0 is the attachment.
#[derive(Debug)]
pub(super) struct Objects {
    places: Vec<Option<Object>>,
    /// No place before this one is free.
    lowest: usize,
    latest: Option<u16>,
    reserved: BTreeSet<u16>,
}

impl Objects {
    pub(super) fn new() -> Objects {
        Objects { places: vec![Some(Object::Other)], lowest: 1, latest: None, reserved: BTreeSet::new() }
    }

    /// Gives an object the lowest free handle; `None` if there are too many.
    pub(super) fn insert(&mut self, object: Object) -> Option<u16> {
        let free = self.places.iter().skip(self.lowest).position(Option::is_none);
        let place = free.map_or(self.places.len(), |free| free + self.lowest);
        let handle = u16::try_from(place).ok().filter(|handle| *handle < HANDLES_MAX)?;
        match self.places.get_mut(place) {
            Some(free) => *free = Some(object),
            None => self.places.push(Some(object)),
        }
        self.lowest = place + 1;
        Some(handle)
    }

    /// A handle that no program is given; `None` if there are too many.
    pub(super) fn reserve(&mut self) -> Option<u16> {
        RESERVED.into_iter().find(|handle| self.reserved.insert(*handle))
    }

    /// Nothing has this reserved handle any longer.
    pub(super) fn release(&mut self, reserved: u16) {
        self.reserved.remove(&reserved);
    }

    /// From here "the latest" means this one.
    pub(super) fn set_latest(&mut self, handle: Option<u16>) {
        self.latest = handle;
    }

    /// The handle that is meant.
    pub(super) fn resolve(&self, handle: Handle) -> Handle {
        match (handle, self.latest) {
            (Handle::LATEST, Some(latest)) => Handle(latest),
            _ => handle,
        }
    }

    pub(super) fn remove(&mut self, handle: u16) -> Option<Object> {
        let place = usize::from(handle);
        if place == 0 {
            return None;
        }
        let object = self.places.get_mut(place)?.take();
        self.lowest = self.lowest.min(place);
        if self.latest == Some(handle) {
            self.latest = None;
        }
        if let Some(Object::Blob(blob)) = &object
            && let Some(reserved) = blob.reserved
        {
            self.release(reserved);
        }
        object
    }

    /// Puts another object in the place of one.
    pub(super) fn set(&mut self, handle: u16, object: Object) {
        if let Some(Some(place)) = self.places.get_mut(usize::from(handle)) {
            *place = object;
        }
    }

    fn get_mut(&mut self, handle: u16) -> Option<&mut Object> {
        self.places.get_mut(usize::from(handle))?.as_mut()
    }

    pub(super) fn transaction(&mut self, handle: u16) -> Option<&mut Transaction> {
        match self.get_mut(handle)? {
            Object::Transaction(transaction) => Some(transaction),
            _ => None,
        }
    }

    /// A statement, to be looked at.
    pub(super) fn statement_ref(&self, handle: u16) -> Option<&Statement> {
        match self.places.get(usize::from(handle))?.as_ref()? {
            Object::Statement(statement) => Some(statement),
            _ => None,
        }
    }

    pub(super) fn statement(&mut self, handle: u16) -> Option<&mut Statement> {
        match self.get_mut(handle)? {
            Object::Statement(statement) => Some(statement),
            _ => None,
        }
    }

    pub(super) fn blob(&mut self, handle: u16) -> Option<&mut Blob> {
        match self.get_mut(handle)? {
            Object::Blob(blob) => Some(blob),
            _ => None,
        }
    }

    /// All of them with their handles.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u16, &mut Object)> {
        let numbered = (0..).zip(self.places.iter_mut());
        numbered.filter_map(|(handle, object)| Some((handle, object.as_mut()?)))
    }
}

impl Objects {
    /// What is open, for those who look on.
    pub(super) fn standing(&self) -> Standing {
        let mut standing = Standing::default();
        for object in self.places.iter().flatten() {
            match object {
                Object::Transaction(transaction) => {
                    standing.transactions += 1;
                    standing.changing += usize::from(transaction.wrote);
                }
                Object::Statement(statement) => {
                    standing.statements += 1;
                    standing.cursors += usize::from(!matches!(statement.cursor, CursorPlace::None));
                }
                Object::Blob(_) => standing.blobs += 1,
                Object::Other => {}
            }
        }
        standing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_handle_comes_first() {
        let mut objects = Objects::new();
        let handles: Vec<_> = (0..4).filter_map(|_| objects.insert(Object::Other)).collect();
        assert_eq!(handles, [1, 2, 3, 4]);
        objects.remove(3);
        objects.remove(1);
        assert!(objects.remove(0).is_none(), "the attachment stays");
        assert_eq!((objects.insert(Object::Other), objects.insert(Object::Other)), (Some(1), Some(3)));
        assert_eq!(objects.insert(Object::Other), Some(5));
        objects.set_latest(Some(5));
        assert_eq!(objects.resolve(Handle::LATEST), Handle(5));
        objects.remove(5);
        assert_eq!(objects.resolve(Handle::LATEST), Handle::LATEST, "nothing else is taken for it");
    }
}
