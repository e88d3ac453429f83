//! Checked pages: the storage under redb, with a checksum for every page, so that a damaged page is an error and never
//! parsed. redb itself compares its checksums only when it repairs a file that was not closed; an ordinary read of a
//! damaged branch page would lead past rows that exist.
//!
//! # Layout
//! The file consists of pages of 4,096 bytes. What redb calls byte 4,096 x (n + 1) is data page n.
//!
//! | page | item |
//! |---|---|
//! | 0 | head: two identical sectors of 512 bytes |
//! | 1 + 513 x g | checksums of the 512 data pages of group g: 8 bytes each, little-endian XXH3-64 seeded with the page's number |
//! | the 512 after it | the data pages of group g |
//!
//! | bytes of a head sector | item |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 4 | [`VERSION`], little-endian |
//! | 4 | zero |
//! | 320 | redb's header |
//! | 8 | how long redb believes the file to be, little-endian |
//! | 8 | XXH3-64 of all before, little-endian |
//!
//! # Length
//! redb lets its storage grow by doubling, long before it uses it. So what it asks for is only noted, and the file grows as
//! pages are written. What is noted is always such that the data pages are a power of two (or regions of redb's, of 4 GiB
//! each): of two free stretches redb takes pages from the smaller one first, and another number would leave small ones at
//! the far end. redb takes a file for as long as it finds it when it opens it, so that is where the number is made so.
//!
//! # Crashes
//! redb writes pages aside and then the header, and trusts nothing that was written between two syncs without looking:
//! after a crash it compares its own checksums of every page that it reaches. Our checksums are written with the next
//! sync, so a crash may leave pages that are newer than their checksum. If an open meets one, redb is made to look at
//! everything: such pages are handed out and remembered ([`CheckedPages::begin_recovery`]); those that it accepted are then taken as sound
//! ([`CheckedPages::end_recovery`]). A sector is written whole or not at all, or its twin is used.
//!
//! A commit in two phases, as all of ours are, was on the disk whole before the header led to it: of such a one no crash
//! leaves a part, so a page of it that fits no checksum was damaged later. redb must not go back to the commit before then:
//! what was acknowledged since would be lost without a word.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::{Bound, Range};
use std::sync::Arc;

use parking_lot::Mutex;
use redb::{BackendError, StorageBackend};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::fault;
use crate::StoreError;

/// First bytes of a database file.
pub(crate) const MAGIC: &[u8; 8] = b"Farbird\x1A";
/// Version of the layout above.
const VERSION: u32 = 2;

/// Bytes of a page.
pub(crate) const PAGE_BYTES: usize = 4_096;
const PAGE: u64 = PAGE_BYTES as u64;
/// Data pages whose checksums stand in one page.
const GROUP_PAGES: u64 = 512;
const SUM_BYTES: usize = 8;

const SECTOR_BYTES: usize = 512;
const HEADER_START: usize = 16;
/// Bytes of redb's header (redb, docs/design.md, "Super-header").
const HEADER_BYTES: usize = 320;
const SIZE_START: usize = HEADER_START + HEADER_BYTES;
const HEAD_SUM_START: usize = SIZE_START + 8;
const _: () = assert!(HEAD_SUM_START + SUM_BYTES <= SECTOR_BYTES);
const _: () = assert!(GROUP_PAGES as usize * SUM_BYTES == PAGE_BYTES);

/// First bytes of redb's header, once redb has finished creating it.
const REDB_MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";
/// Place of redb's flags in its header; the flag that says that it was not closed, and the one that says that the last
/// commit was synced before the header led to it, so that its pages need no look.
const REDB_FLAGS: usize = 9;
/// The flag that says which of redb's two commit slots counts.
const REDB_FLAG_SECOND_SLOT: u8 = 1;
const REDB_FLAG_RECOVERY: u8 = 2;
const REDB_FLAG_TWO_PHASES: u8 = 4;
/// Place of the first of redb's two commit slots in its header, and their size; a slot ends with its checksum.
const REDB_SLOTS: usize = 64;
const REDB_SLOT_BYTES: usize = 128;

/// Bytes of data pages of one of redb's regions.
const REGION_BYTES: u64 = 4 << 30;
/// The file grows in steps of this.
const GROWTH_BYTES: u64 = 256 << 10;

/// Groups whose checksums are kept in memory: 4 KiB each for 2 MiB of file.
const GROUPS_IN_MEMORY_MAX: usize = 8_192;

/// What the head of a file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadState {
    /// The file is empty.
    Empty,
    /// Its creation did not come to its end.
    Unfinished,
    /// There is a database.
    Complete,
}

/// The storage that redb sees; clones are the same one. The file is locked by whoever opened it, so redb's own locks are
/// granted as they come.
#[derive(Debug, Clone)]
pub(crate) struct CheckedPages {
    file: Arc<dyn StorageBackend>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    header: [u8; HEADER_BYTES],
    /// How long redb believes the file to be.
    size: u64,
    /// How long it is.
    file_size: u64,
    /// The header as of the latest sync.
    synced_header: [u8; HEADER_BYTES],
    head: HeadState,
    /// Whether one of the two head sectors is damaged.
    head_is_damaged: bool,
    groups: BTreeMap<u64, Group>,
    /// While redb opens: pages that did not fit their checksum, with the checksum of what they hold.
    suspects: Option<HashMap<u64, u64>>,
}

/// Which commits may be what a file holds after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Candidates {
    /// The latest one was on the disk whole.
    Latest,
    /// The latest one, or the one before if that is not whole.
    LatestOrBefore,
}

/// redb's header as of a sync: leads to nothing but what was synced then, since redb never writes over what it needs.
#[derive(Debug, Clone)]
pub(crate) struct SyncedHeader([u8; HEADER_BYTES]);

impl SyncedHeader {
    /// Whether a commit became durable between the two: redb takes the other one of its two slots for each.
    pub(crate) fn is_followed_by_commit(&self, later: &SyncedHeader) -> bool {
        let slot =
            |header: &SyncedHeader| header.0.get(REDB_FLAGS).map(|flags| flags & REDB_FLAG_SECOND_SLOT);
        slot(self) != slot(later)
    }
}

/// The checksums of a group.
#[derive(Debug)]
struct Group {
    sums: Box<[u64]>,
    /// Which of them the file does not have yet.
    unwritten: Range<usize>,
}

impl CheckedPages {
    /// Reads the head of a file.
    ///
    /// # Errors
    /// `Corrupt` if neither head sector is sound.
    pub(crate) fn new(file: Arc<dyn StorageBackend>) -> crate::Result<CheckedPages> {
        let mut state = State {
            header: [0; HEADER_BYTES],
            size: 0,
            file_size: file.len()?,
            synced_header: [0; HEADER_BYTES],
            head: HeadState::Empty,
            head_is_damaged: false,
            groups: BTreeMap::new(),
            suspects: None,
        };
        if state.file_size >= PAGE {
            let mut head = [0; 2 * SECTOR_BYTES];
            file.read(0, &mut head)?;
            state.read_head(&head)?;
        } else if state.file_size > 0 {
            state.head = HeadState::Unfinished;
        }
        state.synced_header = state.header;
        Ok(CheckedPages { file, state: Arc::new(Mutex::new(state)) })
    }

    /// As [`CheckedPages::new`], of a file whose latest sync has failed: with the header of the last one that did not.
    /// Whatever was written since may be in the file or not, and what the system says of it now may not last.
    pub(crate) fn as_synced(
        file: Arc<dyn StorageBackend>,
        synced: &SyncedHeader,
    ) -> crate::Result<CheckedPages> {
        let pages = CheckedPages::new(file)?;
        {
            let mut state = pages.state.lock();
            (state.header, state.synced_header) = (synced.0, synced.0);
        }
        Ok(pages)
    }

    /// The header as of the latest sync.
    pub(crate) fn synced_header(&self) -> SyncedHeader {
        SyncedHeader(self.state.lock().synced_header)
    }

    pub(crate) fn head(&self) -> HeadState {
        self.state.lock().head
    }

    /// Whether one of the two copies of the head is damaged, which the next write heals.
    pub(crate) fn head_is_damaged(&self) -> bool {
        self.state.lock().head_is_damaged
    }

    /// From now on pages that do not fit their checksum are handed out and remembered.
    pub(crate) fn collect_suspects(&self) {
        self.state.lock().suspects = Some(HashMap::new());
    }

    /// As [`CheckedPages::collect_suspects`]; and the header tells redb to compare its own checksums of everything that it
    /// reaches, before it takes anything for what it says. Gives which commits redb may take.
    pub(crate) fn begin_recovery(&self) -> Candidates {
        self.collect_suspects();
        let mut state = self.state.lock();
        let flags = state.header[REDB_FLAGS];
        state.header[REDB_FLAGS] = (flags | REDB_FLAG_RECOVERY) & !REDB_FLAG_TWO_PHASES;
        if flags & REDB_FLAG_TWO_PHASES == 0 {
            return Candidates::LatestOrBefore;
        }
        // Without its checksum redb does not prefer the other slot, which may be newer: a commit that was not finished.
        let other = usize::from(flags & REDB_FLAG_SECOND_SLOT == 0);
        state.header[REDB_SLOTS + (other + 1) * REDB_SLOT_BYTES - 1] ^= 0xFF;
        Candidates::Latest
    }

    /// Forgets what was remembered: redb has rejected the commit that these pages belong to.
    pub(crate) fn forget_suspects(&self) {
        if let Some(suspects) = &mut self.state.lock().suspects {
            suspects.clear();
        }
    }

    /// Ends the recovery: redb has accepted the pages remembered, which are taken as they are.
    pub(crate) fn end_recovery(&self) -> io::Result<()> {
        let suspects = self.state.lock().suspects.take().unwrap_or_default();
        for (page, sum) in suspects {
            self.note(page, sum)?;
        }
        self.sync_data()
    }

    /// Forgets what was remembered, and hands out no more of it.
    pub(crate) fn abandon_recovery(&self) {
        self.state.lock().suspects = None;
    }

    /// The data pages remembered since [`CheckedPages::begin_recovery`].
    pub(crate) fn suspects(&self) -> Vec<u64> {
        let state = self.state.lock();
        let mut pages: Vec<u64> = state.suspects.iter().flat_map(HashMap::keys).copied().collect();
        pages.sort_unstable();
        pages
    }

    /// Reads whole data pages of one group into `out`.
    fn read_pages(&self, page: u64, out: &mut [u8]) -> io::Result<()> {
        let file_size = self.state.lock().file_size;
        read_or_zeros(&*self.file, file_size, place(page), out)?;
        let sums: Vec<(u64, u64)> = (page..)
            .zip(out.chunks(PAGE_BYTES))
            .map(|(number, bytes)| (number, checksum(number, bytes)))
            .collect();
        // Nobody waits for another reader's checksums.
        let mut state = self.state.lock();
        for (number, found) in sums {
            let expected = state.sum(&*self.file, number)?;
            if found == expected {
                continue;
            }
            match &mut state.suspects {
                Some(suspects) => {
                    suspects.insert(number, found);
                }
                None => return Err(io::Error::new(io::ErrorKind::InvalidData, damaged_page(number))),
            }
        }
        Ok(())
    }

    fn write_pages(&self, page: u64, bytes: &[u8]) -> io::Result<()> {
        for (number, bytes) in (page..).zip(bytes.chunks(PAGE_BYTES)) {
            self.note(number, checksum(number, bytes))?;
        }
        self.state.lock().grow(&*self.file, place(page) + bytes.len() as u64)?;
        self.file.write(place(page), bytes)
    }

    fn note(&self, page: u64, sum: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        if let Some(suspects) = &mut state.suspects {
            suspects.remove(&page);
        }
        let group = state.group(&*self.file, page / GROUP_PAGES)?;
        let index = (page % GROUP_PAGES) as usize;
        if let Some(place) = group.sums.get_mut(index) {
            *place = sum;
        }
        group.unwritten = match group.unwritten.is_empty() {
            true => index..index + 1,
            false => group.unwritten.start.min(index)..group.unwritten.end.max(index + 1),
        };
        Ok(())
    }

    fn read_header(&self, offset: usize, out: &mut [u8]) {
        let state = self.state.lock();
        let known = state.header.get(offset..).unwrap_or_default();
        let count = known.len().min(out.len());
        out[..count].copy_from_slice(&known[..count]);
        out[count..].fill(0);
    }

    fn write_header(&self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        let place = state.header.get_mut(offset..offset + bytes.len());
        let place = place.ok_or_else(|| io::Error::other("a header longer than redb's"))?;
        place.copy_from_slice(bytes);
        let sector = head_sector(&state.header, state.size);
        state.grow(&*self.file, PAGE)?;
        self.file.write(0, &[sector, sector].concat())
    }
}

impl State {
    fn read_head(&mut self, head: &[u8; 2 * SECTOR_BYTES]) -> crate::Result<()> {
        let (first, second) = head.split_at(SECTOR_BYTES);
        let known = [first, second].map(parse_head_sector);
        self.head_is_damaged = known.contains(&None);
        self.head = match known[0].or(known[1]) {
            None if head.iter().all(|&byte| byte == 0) => HeadState::Unfinished,
            None => return Err(StoreError::corrupt("the head of the file (its first 1,024 bytes)")),
            Some((header, size)) => {
                self.header = header;
                self.size = rounded(size);
                match header.starts_with(REDB_MAGIC) {
                    true => HeadState::Complete,
                    false => HeadState::Unfinished,
                }
            }
        };
        Ok(())
    }

    fn sum(&mut self, file: &dyn StorageBackend, page: u64) -> io::Result<u64> {
        let group = self.group(file, page / GROUP_PAGES)?;
        Ok(group.sums.get((page % GROUP_PAGES) as usize).copied().unwrap_or_default())
    }

    fn group(&mut self, file: &dyn StorageBackend, number: u64) -> io::Result<&mut Group> {
        if self.groups.len() >= GROUPS_IN_MEMORY_MAX && !self.groups.contains_key(&number) {
            self.groups.retain(|_, group| !group.unwritten.is_empty());
        }
        match self.groups.entry(number) {
            std::collections::btree_map::Entry::Occupied(known) => Ok(known.into_mut()),
            std::collections::btree_map::Entry::Vacant(unknown) => {
                let mut bytes = vec![0; PAGE_BYTES];
                read_or_zeros(file, self.file_size, place_of_sums(number), &mut bytes)?;
                let sums = bytes.chunks_exact(SUM_BYTES).map(|sum| sum.try_into().unwrap_or_default());
                let sums = sums.map(u64::from_le_bytes).collect();
                Ok(unknown.insert(Group { sums, unwritten: 0..0 }))
            }
        }
    }

    /// Makes the file so long at least.
    fn grow(&mut self, file: &dyn StorageBackend, file_size: u64) -> io::Result<()> {
        if file_size > self.file_size {
            let enough = file_size.next_multiple_of(GROWTH_BYTES).min(file_size_of(self.size)).max(file_size);
            file.set_len(enough)?;
            self.file_size = enough;
        }
        Ok(())
    }

    fn write_sums(&mut self, file: &dyn StorageBackend) -> io::Result<()> {
        for (number, group) in &mut self.groups {
            if group.unwritten.is_empty() {
                continue;
            }
            let sums = group.sums.get(group.unwritten.clone()).unwrap_or_default();
            let bytes: Vec<u8> = sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
            file.write(place_of_sums(*number) + (group.unwritten.start * SUM_BYTES) as u64, &bytes)?;
            group.unwritten = 0..0;
        }
        Ok(())
    }
}

fn head_sector(header: &[u8; HEADER_BYTES], size: u64) -> [u8; SECTOR_BYTES] {
    let mut sector = [0; SECTOR_BYTES];
    sector[..8].copy_from_slice(MAGIC);
    sector[8..12].copy_from_slice(&VERSION.to_le_bytes());
    sector[HEADER_START..SIZE_START].copy_from_slice(header);
    sector[SIZE_START..HEAD_SUM_START].copy_from_slice(&size.to_le_bytes());
    let sum = xxh3_64(&sector[..HEAD_SUM_START]).to_le_bytes();
    sector[HEAD_SUM_START..HEAD_SUM_START + SUM_BYTES].copy_from_slice(&sum);
    sector
}

/// redb's header, and the size that redb sees.
fn parse_head_sector(sector: &[u8]) -> Option<([u8; HEADER_BYTES], u64)> {
    let header: [u8; HEADER_BYTES] = sector.get(HEADER_START..SIZE_START)?.try_into().ok()?;
    let size = u64::from_le_bytes(sector.get(SIZE_START..HEAD_SUM_START)?.try_into().ok()?);
    (sector == head_sector(&header, size)).then_some((header, size))
}

/// Reads bytes; what is behind the end of the file is zeros, which fit no checksum.
fn read_or_zeros(file: &dyn StorageBackend, file_size: u64, offset: u64, out: &mut [u8]) -> io::Result<()> {
    let there = file_size.saturating_sub(offset).min(out.len() as u64) as usize;
    let (there, behind) = out.split_at_mut(there);
    behind.fill(0);
    if there.is_empty() { Ok(()) } else { file.read(offset, there) }
}

/// Compares all data pages of a storage with their checksums, whatever redb makes of them; gives those that do not fit. In a
/// file that was not closed these can be pages that nothing leads to. Pages never written have no checksum.
pub(crate) fn damaged_pages(file: &dyn StorageBackend) -> io::Result<Vec<u64>> {
    let file_size = file.len()?;
    let mut damaged = Vec::new();
    let mut sums = vec![0; PAGE_BYTES];
    let mut bytes = vec![0; PAGE_BYTES];
    for group in (0..).take_while(|group| place_of_sums(*group) < file_size) {
        read_or_zeros(file, file_size, place_of_sums(group), &mut sums)?;
        for (page, sum) in (group * GROUP_PAGES..).zip(sums.chunks_exact(SUM_BYTES)) {
            let expected = u64::from_le_bytes(sum.try_into().unwrap_or_default());
            if expected == 0 || place(page) >= file_size {
                continue;
            }
            read_or_zeros(file, file_size, place(page), &mut bytes)?;
            if checksum(page, &bytes) != expected {
                damaged.push(page);
            }
        }
    }
    Ok(damaged)
}

fn checksum(page: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, page)
}

/// The words for a page that does not fit its checksum.
pub(super) fn damaged_page(page: u64) -> String {
    format!("page {page} of the file does not fit its checksum")
}

/// Where a data page stands in the file.
fn place(page: u64) -> u64 {
    place_of_sums(page / GROUP_PAGES) + PAGE * (1 + page % GROUP_PAGES)
}

fn place_of_sums(group: u64) -> u64 {
    PAGE * (1 + group * (GROUP_PAGES + 1))
}

/// The longest that the file can be for a size that redb sees.
fn file_size_of(size: u64) -> u64 {
    match (size.div_ceil(PAGE)).checked_sub(1) {
        None => 0,
        Some(pages) => PAGE * (1 + pages + pages.div_ceil(GROUP_PAGES)),
    }
}

/// A size that redb sees, made larger, such that free stretches at its end are as large as can be.
fn rounded(size: u64) -> u64 {
    match size.saturating_sub(PAGE) {
        0 => size,
        data if data <= REGION_BYTES => PAGE + data.next_power_of_two(),
        data => PAGE.saturating_add(data.checked_next_multiple_of(REGION_BYTES).unwrap_or(data)),
    }
}

/// Cuts a span of redb's bytes into the header, parts of pages, and runs of whole pages within a group.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (Piece, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let left = length.checked_sub(done).filter(|left| *left > 0)?;
        let within = (at % PAGE) as usize;
        let (piece, count) = match (at / PAGE).checked_sub(1) {
            None => (Piece::Header(within), left.min(PAGE_BYTES - within)),
            Some(page) if within > 0 || left < PAGE_BYTES => {
                (Piece::Part(page, within), left.min(PAGE_BYTES - within))
            }
            Some(page) => {
                let in_group = (GROUP_PAGES - page % GROUP_PAGES) as usize;
                (Piece::Pages(page), (left / PAGE_BYTES).min(in_group) * PAGE_BYTES)
            }
        };
        let range = done..done + count;
        done += count;
        Some((piece, range))
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Header(usize),
    Part(u64, usize),
    Pages(u64),
}

impl StorageBackend for CheckedPages {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().size)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        for (piece, range) in pieces(offset, out.len()) {
            let Some(out) = out.get_mut(range) else { continue };
            let read = match piece {
                Piece::Header(within) => {
                    self.read_header(within, out);
                    Ok(())
                }
                Piece::Pages(page) => self.read_pages(page, out),
                Piece::Part(page, within) => {
                    let mut whole = vec![0; PAGE_BYTES];
                    let read = self.read_pages(page, &mut whole);
                    out.copy_from_slice(&whole[within..within + out.len()]);
                    read
                }
            };
            read.or_else(fault::raise)?;
        }
        Ok(())
    }

    fn set_len(&self, size: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        // While redb creates a file it looks once more how long it has become.
        state.size = if state.head == HeadState::Empty { rounded(size) } else { size };
        let longest = file_size_of(state.size);
        if state.file_size > longest {
            self.file.set_len(longest)?;
            state.file_size = longest;
        }
        let groups = longest.div_ceil(PAGE * (GROUP_PAGES + 1));
        state.groups.retain(|group, _| *group < groups);
        // The file has place for more than its head from its beginning.
        state.grow(&*self.file, longest.min(place(1)))
    }

    fn sync_data(&self) -> io::Result<()> {
        let header = {
            let mut state = self.state.lock();
            state.write_sums(&*self.file)?;
            state.header
        };
        self.file.sync_data()?;
        self.state.lock().synced_header = header;
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        for (piece, range) in pieces(offset, bytes.len()) {
            let Some(bytes) = bytes.get(range) else { continue };
            match piece {
                Piece::Header(within) => self.write_header(within, bytes)?,
                Piece::Pages(page) => self.write_pages(page, bytes)?,
                Piece::Part(page, within) => {
                    let mut whole = vec![0; PAGE_BYTES];
                    self.read_pages(page, &mut whole)?;
                    whole[within..within + bytes.len()].copy_from_slice(bytes);
                    self.write_pages(page, &whole)?;
                }
            }
        }
        Ok(())
    }

    fn try_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Ok(true)
    }

    fn unlock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<(), BackendError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;

    #[test]
    fn pages_stand_behind_the_checksums_of_their_group() {
        assert_eq!([place(0), place(511), place(512)], [2, 513, 515].map(|page| page * PAGE));
        assert_eq!([0, PAGE, 2 * PAGE].map(file_size_of), [0, PAGE, 3 * PAGE]);
        for pages in [1, 2, 511, 512, 513, 1_025] {
            assert_eq!(file_size_of((1 + pages) * PAGE), place(pages - 1) + PAGE);
        }
    }

    #[test]
    fn the_file_grows_with_what_is_written_to_it() {
        let file: Arc<dyn StorageBackend> = Arc::new(InMemoryBackend::new());
        let pages = CheckedPages::new(Arc::clone(&file)).expect("new");
        pages.set_len(300 * PAGE).expect("size");
        assert_eq!(pages.len().expect("length"), 513 * PAGE, "a power of two behind the header");
        assert_eq!(file.len().expect("length"), GROWTH_BYTES);
        let contents = vec![7; PAGE_BYTES];
        pages.write(100 * PAGE, &contents).expect("write");
        let header: Vec<u8> = REDB_MAGIC.iter().copied().chain(1..=200).collect();
        pages.write(0, &header).expect("write");
        pages.sync_data().expect("sync");
        let length = file.len().expect("length");
        assert!((100 * PAGE..100 * PAGE + 2 * GROWTH_BYTES).contains(&length), "{length}");
        let pages = CheckedPages::new(Arc::clone(&file)).expect("open");
        assert_eq!(pages.len().expect("length"), 513 * PAGE);
        let mut out = vec![0; PAGE_BYTES];
        pages.read(100 * PAGE, &mut out).expect("written");
        assert_eq!(out, contents);
        let unwritten = pages.read(400 * PAGE, &mut out).expect_err("behind the end");
        assert_eq!(unwritten.kind(), io::ErrorKind::InvalidData);
        pages.set_len(51 * PAGE).expect("size");
        assert_eq!(file.len().expect("length"), file_size_of(51 * PAGE));
    }

    #[test]
    fn every_flipped_bit_of_a_page_or_its_checksum_is_seen() {
        let file: Arc<dyn StorageBackend> = Arc::new(InMemoryBackend::new());
        let pages = CheckedPages::new(Arc::clone(&file)).expect("new");
        pages.set_len(600 * PAGE).expect("size");
        let contents: Vec<u8> = (0..3 * PAGE_BYTES).map(|place| (place / 7) as u8).collect();
        // Over the border of two groups.
        let offset = PAGE * GROUP_PAGES;
        pages.write(offset, &contents).expect("write");
        pages.sync_data().expect("sync");
        let read = || {
            let mut out = vec![0; contents.len()];
            let pages = CheckedPages::new(Arc::clone(&file)).expect("open");
            pages.read(offset, &mut out).map(|()| out)
        };
        assert_eq!(read().expect("sound"), contents);
        let first = GROUP_PAGES - 1;
        let places = [place(first), place(first) + 4_095, place(first + 1) + 77, place_of_sums(0) + 511 * 8];
        for place in places {
            for bit in 0..8 {
                let mut byte = [0];
                file.read(place, &mut byte).expect("read");
                file.write(place, &[byte[0] ^ 1 << bit]).expect("write");
                assert_eq!(read().expect_err("damage").kind(), io::ErrorKind::InvalidData);
                file.write(place, &byte).expect("write");
            }
        }
        assert_eq!(read().expect("sound"), contents);
    }

    #[test]
    fn one_of_two_head_sectors_is_enough() {
        let file: Arc<dyn StorageBackend> = Arc::new(InMemoryBackend::new());
        let pages = CheckedPages::new(Arc::clone(&file)).expect("new");
        pages.set_len(2 * PAGE).expect("size");
        let header: Vec<u8> = REDB_MAGIC.iter().copied().chain(1..=200).collect();
        pages.write(0, &header).expect("write");
        for damage in [0, 20, 100, 512, 900] {
            let mut byte = [0];
            file.read(damage, &mut byte).expect("read");
            file.write(damage, &[byte[0] ^ 2]).expect("write");
            let pages = CheckedPages::new(Arc::clone(&file)).expect("open");
            assert!(pages.head_is_damaged());
            let mut out = vec![0; header.len()];
            pages.read(0, &mut out).expect("read");
            assert_eq!(out, header);
            file.write(damage, &byte).expect("write");
        }
        file.write(9, &[0xFF]).expect("write");
        file.write(700, &[0xFF]).expect("write");
        assert!(matches!(CheckedPages::new(file), Err(StoreError::Corrupt { .. })));
    }
}
