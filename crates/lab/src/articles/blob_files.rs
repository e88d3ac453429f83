//! The texts that become BLOBs: a folder's files, or made-up sources of a real size distribution.

use std::path::Path;

use crate::Result;
use crate::random::Random;
use crate::records::TEXT;

/// A text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobFile {
    /// Its name, which no other has.
    pub name: String,
    /// What is in it.
    pub text: String,
}

/// Most files that are read of a folder, and the largest that is.
const FILES_MAX: usize = 2_000;
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// The column that holds names.
const NAME_CHARACTERS_MAX: usize = 255;

/// The text files of a folder and of those in it, by name. Files that are not UTF-8, are larger than a megabyte or begin
/// with a dot are passed over; at most 2,000 are taken.
///
/// # Errors
/// What the file system says.
pub fn folder_files(folder: &Path) -> Result<Vec<BlobFile>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next)? {
            let entry = entry?;
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && entry.metadata()?.len() <= FILE_BYTES_MAX {
                files.extend(text_file(folder, &entry.path())?);
            }
            if files.len() >= FILES_MAX {
                folders.clear();
                break;
            }
        }
    }
    files.sort_by(|one: &BlobFile, other| one.name.cmp(&other.name));
    Ok(files)
}

fn text_file(folder: &Path, path: &Path) -> Result<Option<BlobFile>> {
    let name = path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned();
    let Ok(text) = String::from_utf8(std::fs::read(path)?) else { return Ok(None) };
    let fits = name.chars().count() <= NAME_CHARACTERS_MAX && !text.is_empty();
    Ok(fits.then_some(BlobFile { name, text }))
}

/// Made-up source files, the same in every run: half are below 8 KB, a third are above 16 KB, three in a hundred above
/// 50 KB, the longest have 110 KB. They compress about as well as sources do.
pub fn made_up_files(count: usize) -> Vec<BlobFile> {
    (0..count).map(|index| made_up(index, count)).collect()
}

fn made_up(index: usize, count: usize) -> BlobFile {
    let mut random = Random(index as u64 + 77);
    // Sizes are spread evenly over the distribution and then over the files: a multiplier that shares no divisor with the
    // usual counts keeps large ones from standing together.
    let place = (index * 7_919 + count / 2) % count;
    let bytes = size((place as f64 + 0.5) / count as f64);
    BlobFile {
        name: format!("src/part{:02}/file{index:05}.cpp", index % 20),
        text: source(bytes, &mut random),
    }
}

/// The size below which this share of the files stays.
fn size(share: f64) -> usize {
    let between = |from: f64, to: f64, part: f64| from * (to / from).powf(part);
    let bytes = match share {
        s if s < 0.5 => 300.0 + 7_700.0 * (s * 2.0).powf(1.3),
        s if s < 0.667 => between(8_000.0, 16_384.0, (s - 0.5) / 0.167),
        s if s < 0.97 => between(16_384.0, 50_000.0, (s - 0.667) / 0.303),
        s => between(50_000.0, 110_000.0, (s - 0.97) / 0.03),
    };
    bytes as usize
}

/// Every file begins with this, as sources do.
const HEADER: &str = "/*\n *  The contents of this file are subject to the terms of the licence that comes with it. They are\n \
 *  distributed on an \"as is\" basis, without warranty of any kind, either express or implied.\n */\n\n";
const TYPES: [&str; 6] = ["int", "unsigned", "bool", "std::string", "const Field&", "Record*"];
const CALLS: [&str; 8] = ["append", "find", "open", "close", "validate", "read", "write", "assign"];

/// A text of so many bytes that looks like a source: comments from a novel, code over a vocabulary of the file's own.
fn source(bytes: usize, random: &mut Random) -> String {
    let words: Vec<&str> = TEXT.split_ascii_whitespace().filter(|word| word.is_ascii()).collect();
    let names: Vec<String> = (0..24 + random.below(40))
        .map(|_| {
            let word = |random: &mut Random| {
                let word = words[random.below(words.len() as u64) as usize];
                word.trim_matches(|character: char| !character.is_ascii_alphabetic()).to_ascii_lowercase()
            };
            format!("{}_{}{}", word(random), word(random), random.below(10))
        })
        .collect();
    let mut at = random.below(words.len() as u64) as usize;
    let mut text = String::with_capacity(bytes + 200);
    text.push_str(HEADER);
    while text.len() < bytes {
        line(&names, &words, &mut at, random, &mut text);
    }
    text.truncate(bytes);
    text
}

fn line(names: &[String], words: &[&str], at: &mut usize, random: &mut Random, text: &mut String) {
    let depth = 1 + random.below(4) as usize;
    text.extend(std::iter::repeat_n('\t', depth));
    let name = |random: &mut Random| names[random.below(names.len() as u64) as usize].as_str();
    let (one, other) = (name(random), name(random));
    match random.below(9) {
        0 | 1 => {
            text.push_str("// ");
            for _ in 0..4 + random.below(12) {
                text.push_str(words[*at % words.len()]);
                text.push(' ');
                *at += 1;
            }
        }
        2 => text.push_str(&format!("if ({one} != {other} && !{one}.empty())")),
        3 => text.push_str(&format!("{} {one} = {other};", random.pick(&TYPES))),
        4 => text.push_str(&format!("for (auto& {one} : {other})")),
        5 => text.push_str(&format!("return {one}->{}({other});", random.pick(&CALLS))),
        6 => text
            .push_str(&format!("throw Error(\"{other} of {one} is out of range\", {});", random.below(500))),
        _ => text.push_str(&format!("{one}.{}({other}, {});", random.pick(&CALLS), random.below(100))),
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_files_are_distributed_as_promised_and_the_same_every_time() {
        let files = made_up_files(1_000);
        assert_eq!(files, made_up_files(1_000));
        let mut sizes: Vec<usize> = files.iter().map(|file| file.text.len()).collect();
        sizes.sort_unstable();
        assert!((7_800..=8_200).contains(&sizes[500]), "median {}", sizes[500]);
        let large = sizes.iter().filter(|size| **size > 16_384).count();
        assert!((320..=345).contains(&large), "{large} above 16 KB");
        assert!(sizes[999] > 100_000 && sizes[0] < 1_000);
        let mut names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 1_000);
        // Neighbours differ in size, or the first rows of a table would be unlike the others.
        let first: usize = files[..100].iter().map(|file| file.text.len()).sum::<usize>() / 100;
        let all = sizes.iter().sum::<usize>() / 1_000;
        assert!(first.abs_diff(all) < all / 10, "the first hundred have {first} bytes each, all have {all}");
    }
}
