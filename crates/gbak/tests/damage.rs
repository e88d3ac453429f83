//! Whole backups are read to their end; damaged ones give an error or other contents, never a panic.

use std::fs;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use farbird_gbak::{BackupReader, Contents, Fault, Volumes, is_gbak, verify};

const WHOLE: [&str; 7] = [
    "firebird3-arrays.fbk",
    "firebird3-arrays-native.fbk",
    "firebird3.fbk",
    "firebird3-native.fbk",
    "firebird4.fbk",
    "firebird4-zip.fbk",
    "firebird4-native-expanded.fbk",
];
const PARTS: [&str; 3] = ["firebird3-part1.fbk", "firebird3-part2.fbk", "firebird3-part3.fbk"];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(path(name)).unwrap()
}

fn read(bytes: &[u8]) -> Result<Contents, Fault> {
    verify(&mut BackupReader::open(Box::new(Cursor::new(bytes)))?)
}

fn volumes(names: &[&str]) -> Result<Contents, Fault> {
    let files = names.iter().map(|name| {
        let file: Box<dyn Read> = Box::new(fs::File::open(path(name)).unwrap());
        ((*name).to_owned(), file)
    });
    verify(&mut BackupReader::open(Box::new(Volumes::open(files.collect())?))?)
}

#[test]
fn every_form_of_a_backup_has_the_same_contents() {
    let first = read(&bytes("firebird3.fbk")).unwrap();
    assert_eq!((first.rows, first.blobs), (11, 4));
    assert_eq!(read(&bytes("firebird3-native.fbk")).unwrap(), first);
    assert_eq!(volumes(&PARTS).unwrap(), first);
    let fourth = read(&bytes("firebird4.fbk")).unwrap();
    assert_eq!(
        (fourth.rows, fourth.blobs, fourth.blob_bytes),
        (first.rows + 3, first.blobs, first.blob_bytes)
    );
    assert_eq!(read(&bytes("firebird4-zip.fbk")).unwrap(), fourth);
    assert_eq!(read(&bytes("firebird4-native-expanded.fbk")).unwrap(), fourth);
}

#[test]
fn parts_come_in_any_order_and_must_all_be_there() {
    let first = volumes(&PARTS).unwrap();
    assert_eq!(volumes(&[PARTS[2], PARTS[0], PARTS[1]]).unwrap(), first);
    let missing = volumes(&[PARTS[0], PARTS[2]]).unwrap_err().to_string();
    assert!(missing.contains("part 2 of 3 is missing"), "{missing}");
    let twice = volumes(&[PARTS[0], PARTS[1], PARTS[1]]).unwrap_err().to_string();
    assert!(twice.contains("twice"), "{twice}");
    let other = volumes(&[PARTS[0], "firebird3.fbk"]).unwrap_err().to_string();
    assert!(other.contains("no part"), "{other}");
}

#[test]
fn backups_are_recognised_by_their_beginning() {
    for name in WHOLE.into_iter().chain(PARTS) {
        let backup = bytes(name);
        let (found, mut again) = is_gbak(&backup[..]);
        assert!(found.unwrap(), "{name}");
        let mut whole = Vec::new();
        again.read_to_end(&mut whole).unwrap();
        assert_eq!(whole, backup);
    }
    assert!(!is_gbak(&b"\x89FBBAK\r\n and more of our own backup"[..]).0.unwrap());
    assert!(!is_gbak(std::io::empty()).0.unwrap());
    assert!(matches!(read(b"something else"), Err(Fault::Record { .. } | Fault::NotABackup)));
}

#[test]
fn an_unknown_format_and_an_encrypted_backup_are_refused() {
    let mut newer = bytes("firebird4.fbk");
    newer[3] = 12;
    assert!(matches!(read(&newer), Err(Fault::Format(12))));
    // rec_burp, format 11, att_backup_crypt "Some", end.
    let encrypted = [0, 2, 4, 11, 0, 0, 0, 12, 4, b'S', b'o', b'm', b'e', 0];
    assert!(matches!(read(&encrypted), Err(Fault::Encrypted)));
}

#[test]
fn every_cut_is_found() {
    for name in WHOLE {
        let whole = bytes(name);
        let mut cuts: Vec<usize> = (0..whole.len()).step_by(211).collect();
        cuts.extend(0..64);
        // gbak fills its last block: the end mark is what counts.
        let end = whole.iter().rposition(|byte| *byte != 0).unwrap();
        for cut in cuts.into_iter().filter(|cut| *cut + 16 < end) {
            assert!(read(&whole[..cut]).is_err(), "{name} cut at {cut}");
        }
    }
}

#[test]
fn changed_bytes_never_panic() {
    for name in WHOLE {
        let whole = bytes(name);
        for at in (0..whole.len()).step_by(101) {
            for change in [0x01, 0x80] {
                let mut changed = whole.clone();
                changed[at] ^= change;
                // Most bytes are contents: another text is no damage that anybody could see.
                drop(read(&changed));
            }
        }
    }
}

#[test]
fn a_length_that_is_only_said_takes_no_memory() {
    // rec_burp of format 10, then rec_relation whose view's source says that it is two gigabytes long.
    let bomb = [0, 2, 4, 10, 0, 0, 0, 0, 3, 14, 4, 0xff, 0xff, 0xff, 0x7f, b'x'];
    assert!(read(&bomb).is_err());
}
