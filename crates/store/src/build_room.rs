//! What building an index may take beside its file: memory, temporary files and the help of other threads. Whoever has the budgets
//! says it.

use crate::Result;

/// What may be taken while an index is built.
pub trait BuildRoom: Sync {
    /// Memory to be asked for, nothing yet.
    fn memory(&self) -> Box<dyn BuildMemory + '_>;

    /// A new temporary file, for what finds no memory.
    ///
    /// # Errors
    /// If it cannot be made.
    fn temporary_file(&self) -> Result<Box<dyn BuildFile>>;

    /// Places for threads that help, as many as there may be.
    fn helping_places(&self) -> Vec<Box<dyn HelpingPlace>>;
}

/// Memory that one thread takes; given back when it is dropped.
pub trait BuildMemory: Send {
    /// Takes so many bytes more; false if they are not to be had: then some of what there is has to go to a file.
    fn try_grow(&mut self, bytes: usize) -> bool;

    /// Gives so many bytes back.
    fn shrink(&mut self, bytes: usize);
}

/// A temporary file, which vanishes when it is dropped.
pub trait BuildFile: Send {
    /// Appends bytes; gives the place where they stand.
    ///
    /// # Errors
    /// If there is no more space for it.
    fn append(&mut self, bytes: &[u8]) -> Result<u64>;

    /// Reads as many bytes as `out` has room for.
    ///
    /// # Errors
    /// If they cannot be read.
    fn read_at(&mut self, place: u64, out: &mut [u8]) -> Result<()>;
}

/// The place of a helping thread.
pub trait HelpingPlace: Send {
    /// Whether the thread shall rest now, since others need the processor.
    fn rests(&mut self) -> bool;
}

/// Room without limits, for one thread: memory is all that it takes.
#[derive(Debug, Clone, Copy, Default)]
pub struct AmpleRoom;

impl BuildRoom for AmpleRoom {
    fn memory(&self) -> Box<dyn BuildMemory + '_> {
        Box::new(AmpleRoom)
    }

    fn temporary_file(&self) -> Result<Box<dyn BuildFile>> {
        Err(std::io::Error::from(std::io::ErrorKind::Unsupported).into())
    }

    fn helping_places(&self) -> Vec<Box<dyn HelpingPlace>> {
        Vec::new()
    }
}

impl BuildMemory for AmpleRoom {
    fn try_grow(&mut self, _bytes: usize) -> bool {
        true
    }

    fn shrink(&mut self, _bytes: usize) {}
}
