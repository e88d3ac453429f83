//! Backups in several files: each begins with a header of text that says which part of how many it is.

use std::collections::VecDeque;
use std::io::Read;

use crate::{Fault, Result};

/// Bytes of the header of a part.
pub(crate) const SPLIT_HEADER_BYTES: usize = 100;
/// How the header begins: what gbak writes, and what gsplit wrote.
const TAGS: [&[u8]; 2] = [b"InterBase/gbak,   ", b"InterBase/gsplit, "];
/// Where the part's number and the number of parts stand, four digits each.
const NUMBER: std::ops::Range<usize> = 59..63;
const TOTAL: std::ops::Range<usize> = 67..71;

/// Which part a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SplitHeader {
    /// From 1.
    pub number: u32,
    /// How many there are.
    pub total: u32,
}

impl SplitHeader {
    pub(crate) fn has_tag(beginning: &[u8]) -> bool {
        TAGS.iter().any(|tag| beginning.starts_with(tag))
    }

    /// The header at the beginning of a file, if it has one.
    pub fn parse(beginning: &[u8]) -> Option<SplitHeader> {
        let number = |range| std::str::from_utf8(beginning.get(range)?).ok()?.trim().parse::<u32>().ok();
        let header = SplitHeader { number: number(NUMBER)?, total: number(TOTAL)? };
        (SplitHeader::has_tag(beginning) && (1..=header.total).contains(&header.number)).then_some(header)
    }
}

/// The bytes of one backup out of its files, one after the other.
pub struct Volumes<'a> {
    files: VecDeque<Box<dyn Read + 'a>>,
}

impl<'a> Volumes<'a> {
    /// Puts the files of a backup into their order, and takes their headers off. A backup that is not split is one file.
    ///
    /// # Errors
    /// [`Fault::Volumes`] if a part is missing, is there twice, or is none.
    pub fn open(files: Vec<(String, Box<dyn Read + 'a>)>) -> Result<Volumes<'a>> {
        let mut parts: Vec<(Option<SplitHeader>, String, Box<dyn Read + 'a>)> = Vec::new();
        for (name, mut file) in files {
            let mut beginning = Vec::new();
            (&mut file).take(SPLIT_HEADER_BYTES as u64).read_to_end(&mut beginning)?;
            let header = SplitHeader::parse(&beginning);
            let file: Box<dyn Read + 'a> = match header {
                Some(_) => file,
                None => Box::new(std::io::Cursor::new(beginning).chain(file)),
            };
            parts.push((header, name, file));
        }
        match parts.as_slice() {
            [(None, ..)] => {}
            _ => check_parts(&parts)?,
        }
        parts.sort_by_key(|(header, ..)| header.map(|header| header.number));
        Ok(Volumes { files: parts.into_iter().map(|(_, _, file)| file).collect() })
    }
}

fn check_parts(parts: &[(Option<SplitHeader>, String, Box<dyn Read + '_>)]) -> Result<()> {
    let mut seen: Vec<u32> = Vec::new();
    let mut total = None;
    for (header, name, _) in parts {
        let Some(header) = header else {
            return Err(Fault::Volumes(format!("{name} is no part of a backup in several files")));
        };
        if *total.get_or_insert(header.total) != header.total {
            return Err(Fault::Volumes(format!("{name} is a part of another backup")));
        }
        if seen.contains(&header.number) {
            return Err(Fault::Volumes(format!("{name} is part {}, which is there twice", header.number)));
        }
        seen.push(header.number);
    }
    // gbak writes down as many parts as it was given names; the last ones stay empty if the backup is shorter.
    let missing = (1..=total.unwrap_or(1)).find(|number| !seen.contains(number));
    match missing {
        Some(number) => Err(Fault::Volumes(format!(
            "part {number} of {} is missing: name all files of the backup",
            total.unwrap_or(1)
        ))),
        None => Ok(()),
    }
}

impl Read for Volumes<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        while let Some(file) = self.files.front_mut() {
            match file.read(out)? {
                0 if !out.is_empty() => drop(self.files.pop_front()),
                read => return Ok(read),
            }
        }
        Ok(0)
    }
}
