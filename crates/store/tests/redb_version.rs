//! The version of redb that the store was written for: it knows more of redb's file than redb promises.

use std::path::Path;

/// Before this is changed: docs/store.md, "What the store knows of redb", says what to compare with the new version's source.
const KNOWN: &str = "4.4.0";

#[test]
fn redb_is_the_version_whose_header_is_known() {
    let lock_file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let locked = std::fs::read_to_string(&lock_file).expect("Cargo.lock");
    let mut versions = locked.split("[[package]]").filter(|package| package.contains("\nname = \"redb\"\n"));
    let version = versions.next().expect("redb is in Cargo.lock");
    assert!(version.contains(&format!("version = \"{KNOWN}\"")), "another redb:{version}");
    assert!(versions.next().is_none(), "two versions of redb");
}
