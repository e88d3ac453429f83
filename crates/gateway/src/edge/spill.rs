//! The file of rows and BLOBs that have no room in an edge's memory.
//!
//! It has no name: nobody but this process can open it, and the operating system removes it when the process ends in whatever way. It is made
//! when something goes there first, grows by blocks, gives room that is free again to what comes next, and becomes empty when nothing is in it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use farbird_farlink::edge::{SpillPlace, SpillStore};
use parking_lot::Mutex;

/// A page of most file systems.
const BLOCK_BYTES: usize = 4096;

#[derive(Debug)]
pub(crate) struct SpillFile {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    file: Option<File>,
    /// Blocks that the file has.
    blocks: u32,
    /// Those of them that nothing is in.
    free: Vec<Range<u32>>,
    used: u32,
}

impl SpillFile {
    /// None yet; it is made in this folder.
    pub(crate) fn new(folder: &Path) -> SpillFile {
        SpillFile { folder: folder.to_owned(), state: Mutex::default() }
    }
}

impl SpillStore for SpillFile {
    fn put(&self, bytes: &[u8]) -> io::Result<SpillPlace> {
        let mut state = self.state.lock();
        let result = state.put(&self.folder, bytes);
        if let Err(error) = &result {
            tracing::error!("no rows and BLOBs can be kept in a file in {}: {error}", self.folder.display());
        }
        result
    }

    fn get(&self, place: &SpillPlace) -> io::Result<Vec<u8>> {
        let result = self.state.lock().get(place);
        if let Err(error) = &result {
            tracing::error!("rows or a BLOB that were kept in a file cannot be read: {error}");
        }
        result
    }

    fn free(&self, place: &SpillPlace) {
        self.state.lock().give_back(&place.blocks);
    }
}

impl State {
    fn put(&mut self, folder: &Path, bytes: &[u8]) -> io::Result<SpillPlace> {
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile_in(folder)?);
        }
        let blocks = self.take(bytes.len().div_ceil(BLOCK_BYTES))?;
        match self.write(&blocks, bytes) {
            Ok(()) => Ok(SpillPlace { blocks, length: bytes.len() }),
            Err(error) => {
                self.give_back(&blocks);
                Err(error)
            }
        }
    }

    fn write(&mut self, blocks: &[Range<u32>], bytes: &[u8]) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        let mut rest = bytes;
        for run in blocks {
            let (part, behind) = rest.split_at(rest.len().min(run_bytes(run)));
            file.seek(SeekFrom::Start(place_of(run.start)))?;
            file.write_all(part)?;
            rest = behind;
        }
        Ok(())
    }

    fn get(&mut self, place: &SpillPlace) -> io::Result<Vec<u8>> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        let mut bytes = vec![0; place.length];
        let mut rest = bytes.as_mut_slice();
        for run in &place.blocks {
            let (part, behind) = rest.split_at_mut(rest.len().min(run_bytes(run)));
            file.seek(SeekFrom::Start(place_of(run.start)))?;
            file.read_exact(part)?;
            rest = behind;
        }
        Ok(bytes)
    }

    /// Takes so many blocks: those that are free, then new ones behind the last.
    fn take(&mut self, wanted: usize) -> io::Result<Vec<Range<u32>>> {
        let full = || io::Error::from(io::ErrorKind::FileTooLarge);
        let mut missing = u32::try_from(wanted).map_err(|_| full())?;
        let end = self.blocks.checked_add(missing).ok_or_else(full)?;
        let mut taken = Vec::new();
        while missing > 0 {
            let run = match self.free.pop() {
                Some(run) if run.len() > missing as usize => {
                    self.free.push(run.start + missing..run.end);
                    run.start..run.start + missing
                }
                Some(run) => run,
                None => {
                    let new = self.blocks..self.blocks + missing;
                    self.blocks = new.end.min(end);
                    new
                }
            };
            missing -= run.end - run.start;
            self.used += run.end - run.start;
            taken.push(run);
        }
        Ok(taken)
    }

    fn give_back(&mut self, blocks: &[Range<u32>]) {
        self.used -= blocks.iter().map(|run| run.end - run.start).sum::<u32>();
        if self.used > 0 {
            return self.free.extend_from_slice(blocks);
        }
        self.blocks = 0;
        self.free.clear();
        if let Some(Err(error)) = self.file.as_ref().map(|file| file.set_len(0)) {
            tracing::warn!("a file that is of no use any more keeps its space: {error}");
        }
    }
}

fn run_bytes(run: &Range<u32>) -> usize {
    run.len() * BLOCK_BYTES
}

fn place_of(block: u32) -> u64 {
    u64::from(block) * BLOCK_BYTES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(of: u8, length: usize) -> Vec<u8> {
        (0..length).map(|at| of.wrapping_add((at % 251) as u8)).collect()
    }

    fn length_of(file: &SpillFile) -> u64 {
        file.state.lock().file.as_ref().map_or(0, |file| file.metadata().unwrap().len())
    }

    #[test]
    fn pieces_come_back_as_they_were_and_their_room_is_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = SpillFile::new(folder.path());
        let mut kept = Vec::new();
        for (number, length) in [1, 4096, 4097, 100_000, 65_000, 0].into_iter().enumerate() {
            let bytes = piece(u8::try_from(number).unwrap(), length);
            kept.push((file.put(&bytes).unwrap(), bytes));
        }
        let before = length_of(&file);
        // Every second one goes; what comes next is put together of their room.
        for (place, _) in kept.iter().step_by(2) {
            file.free(place);
        }
        let mut next = 0;
        kept.retain(|_| {
            next += 1;
            next % 2 == 0
        });
        let bytes = piece(9, 70_000);
        kept.push((file.put(&bytes).unwrap(), bytes));
        assert!(length_of(&file) <= before + BLOCK_BYTES as u64, "{before} and {}", length_of(&file));
        for (place, bytes) in &kept {
            assert!(file.get(place).unwrap() == *bytes);
        }
        for (place, _) in &kept {
            file.free(place);
        }
        assert_eq!(length_of(&file), 0, "the disk has its space again");
        let again = file.put(b"again").unwrap();
        assert_eq!(file.get(&again).unwrap(), b"again");
    }

    #[test]
    fn nobody_finds_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = SpillFile::new(folder.path());
        file.put(&[7; 100_000]).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_and_nothing_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = SpillFile::new(&folder.path().join("none"));
        assert!(file.put(b"one").is_err());
        std::fs::create_dir(folder.path().join("none")).unwrap();
        let place = file.put(b"two").unwrap();
        assert_eq!(file.get(&place).unwrap(), b"two");
    }
}
