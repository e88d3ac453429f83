//! Pairing: the keys by which both ends of a farlink know each other.
//!
//! Each end has one key pair (Ed25519) and a list of the other ends that it talks to, in a folder of its own. An administrator pastes one
//! line from each end at the other. There are no certificates and no authorities: who is not on the list is nobody. Who is struck
//! off it ([`Keys::revoke`]) is nobody from that moment on; running processes look at the list every second or two
//! ([`Keys::reload`]), and a struck key cannot be put back by mistake.
//!
//! | file | what it holds |
//! |---|---|
//! | `key` | the private key (PKCS #8, as hexadecimal digits), for its owner's eyes only |
//! | `peers.toml` | names and public keys of those that are trusted, and of those that were |
//!
//! # The line
//! `farlink:NAME:DIGITS`: the sender's name and, as hexadecimal digits, its public key (32 bytes) and the first four bytes of the SHA-256 of
//! name and key, so that a damaged line is noticed.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde::{Deserialize, Serialize};

/// Longest name of an end.
pub const NAME_BYTES_MAX: usize = 64;

const KEY_FILE: &str = "key";
const PEERS_FILE: &str = "peers.toml";
const LINE_BEGINS: &str = "farlink";
const CHECK_BYTES: usize = 4;
/// No honest file of ours is longer.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The public key of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PublicKey(pub [u8; 32]);

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hexadecimal(&self.0))
    }
}

/// An end that is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// As this end calls it.
    pub name: String,
    /// What it proves that it has.
    pub key: PublicKey,
}

/// Why pairing does not work.
#[derive(Debug, thiserror::Error)]
pub enum PairingError {
    /// A file cannot be read or written.
    #[error("cannot {what} {path}: {error}")]
    File {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The key file can be read by others.
    #[error(
        "{0} can be read by others than its owner; anybody who has read it can pass for this end. Make it private (chmod 600), or remove it and pair again"
    )]
    Exposed(PathBuf),
    /// A file is not what it should be.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The pasted line is not whole.
    #[error(
        "this is no line of `farbird pair`: {0}. Copy the whole line that begins with `farlink:` from the other end"
    )]
    Line(&'static str),
    /// A name that cannot be used.
    #[error(
        "the name {0:?} cannot be used: letters, digits, `-`, `_` and `.`, at most {NAME_BYTES_MAX} of them"
    )]
    Name(String),
    /// The line is this end's own.
    #[error("this line is this end's own; paste it at the other end, and the other end's line here")]
    Own,
    /// The name is taken by another key.
    #[error(
        "{0} is paired already, with another key; if that end was set up anew, revoke the old key first: farbird pair --revoke {0}"
    )]
    Taken(String),
    /// The key was revoked.
    #[error(
        "this key was revoked (as {0}). Let the other end make a new one: remove its file `key` and run `farbird pair` there"
    )]
    Revoked(String),
    /// Nobody has that name.
    #[error("no end with the name {0} is paired; `farbird pair --list` tells who is")]
    Unknown(String),
    /// The system gives no random numbers, or the key is not usable.
    #[error("cannot make or use a key: {0}")]
    Key(String),
}

/// The list as it stands in its file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    /// This end's own name.
    name: Option<String>,
    #[serde(default)]
    peer: Vec<Entry>,
    #[serde(default)]
    revoked: Vec<Entry>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    key: String,
}

/// What an end knows of itself and of the others. Clones are the same.
#[derive(Clone)]
pub struct Keys {
    folder: PathBuf,
    name: String,
    pkcs8: Arc<Vec<u8>>,
    public: PublicKey,
    trusted: Arc<RwLock<Vec<Peer>>>,
}

impl Keys {
    /// Opens the folder, or makes it and a key pair. `name` is what this end calls itself from now on; without one it keeps
    /// its name, at first that of the machine.
    ///
    /// # Errors
    /// [`PairingError`].
    pub fn open_or_create(folder: &Path, name: Option<&str>) -> Result<Keys, PairingError> {
        if let Some(name) = name {
            check_name(name)?;
        }
        make_folder(folder)?;
        let key = folder.join(KEY_FILE);
        if !key.exists() {
            let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
                .map_err(|_| PairingError::Key("the system gives no random numbers".to_owned()))?;
            write_private(&key, hexadecimal(pair.as_ref()).as_bytes())?;
        }
        let mut list = read_list(folder)?;
        let wanted = name.map(str::to_owned).or_else(|| list.name.clone()).unwrap_or_else(machine_name);
        if list.name.as_ref() != Some(&wanted) {
            list.name = Some(wanted);
            write_list(folder, &list)?;
        }
        Keys::open(folder)
    }

    /// Opens a folder that `farbird pair` has made.
    ///
    /// # Errors
    /// [`PairingError`].
    pub fn open(folder: &Path) -> Result<Keys, PairingError> {
        let path = folder.join(KEY_FILE);
        let text = read_private(&path)?;
        let damaged = |reason: &str| PairingError::Damaged { path: path.clone(), reason: reason.to_owned() };
        let pkcs8 =
            from_hexadecimal(text.trim()).ok_or_else(|| damaged("it is no row of hexadecimal digits"))?;
        let pair = Ed25519KeyPair::from_pkcs8(&pkcs8).map_err(|error| damaged(&error.to_string()))?;
        let public =
            pair.public_key().as_ref().try_into().map_err(|_| damaged("its key is of another kind"))?;
        let list = read_list(folder)?;
        let keys = Keys {
            folder: folder.to_owned(),
            name: list.name.unwrap_or_else(machine_name),
            pkcs8: Arc::new(pkcs8),
            public: PublicKey(public),
            trusted: Arc::default(),
        };
        keys.reload()?;
        Ok(keys)
    }

    /// Where it is kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What this end calls itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its public key.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// Its private key, as PKCS #8.
    pub(crate) fn pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    /// The line to be pasted at the other end.
    pub fn line(&self) -> String {
        let check = check(&self.name, self.public);
        format!("{LINE_BEGINS}:{}:{}{}", self.name, hexadecimal(&self.public.0), hexadecimal(&check))
    }

    /// Trusts the end whose line this is, under its own name or `name`. Pairing with the same end twice is no error.
    ///
    /// # Errors
    /// [`PairingError`].
    pub fn trust(&self, line: &str, name: Option<&str>) -> Result<Peer, PairingError> {
        let mut peer = read_line(line)?;
        if let Some(name) = name {
            check_name(name)?;
            peer.name = name.to_owned();
        }
        if peer.key == self.public {
            return Err(PairingError::Own);
        }
        let mut list = read_list(&self.folder)?;
        let digits = hexadecimal(&peer.key.0);
        if let Some(revoked) = list.revoked.iter().find(|entry| entry.key == digits) {
            return Err(PairingError::Revoked(revoked.name.clone()));
        }
        if list.peer.iter().any(|entry| entry.name == peer.name && entry.key != digits) {
            return Err(PairingError::Taken(peer.name));
        }
        list.peer.retain(|entry| entry.key != digits);
        list.peer.push(Entry { name: peer.name.clone(), key: digits });
        write_list(&self.folder, &list)?;
        self.reload()?;
        Ok(peer)
    }

    /// Trusts an end no longer, and never again with this key.
    ///
    /// # Errors
    /// [`PairingError::Unknown`] and others.
    pub fn revoke(&self, name: &str) -> Result<(), PairingError> {
        let mut list = read_list(&self.folder)?;
        let at = list.peer.iter().position(|entry| entry.name == name);
        let entry = list.peer.remove(at.ok_or_else(|| PairingError::Unknown(name.to_owned()))?);
        list.revoked.push(entry);
        write_list(&self.folder, &list)?;
        self.reload()?;
        Ok(())
    }

    /// Those that are trusted.
    pub fn peers(&self) -> Vec<Peer> {
        self.trusted.read().clone()
    }

    /// The end that has this key, if it is trusted.
    pub fn peer(&self, key: PublicKey) -> Option<Peer> {
        self.trusted.read().iter().find(|peer| peer.key == key).cloned()
    }

    /// Reads the list again. If it cannot be read nobody is trusted any longer: somebody may just have been struck off it.
    ///
    /// The file is short, and read rather than asked when it was changed: two changes may bear the same time.
    ///
    /// # Errors
    /// [`PairingError`].
    pub fn reload(&self) -> Result<(), PairingError> {
        let peers = read_list(&self.folder).and_then(|list| self.read_peers(&list));
        let mut trusted = self.trusted.write();
        match peers {
            Ok(peers) => *trusted = peers,
            Err(error) => {
                trusted.clear();
                return Err(error);
            }
        }
        Ok(())
    }

    fn read_peers(&self, list: &List) -> Result<Vec<Peer>, PairingError> {
        let read = |entry: &Entry| {
            let key = from_hexadecimal(&entry.key).and_then(|bytes| bytes.try_into().ok());
            let key = key.ok_or_else(|| PairingError::Damaged {
                path: self.folder.join(PEERS_FILE),
                reason: format!("the key of {} is no row of 64 hexadecimal digits", entry.name),
            })?;
            Ok(Peer { name: entry.name.clone(), key: PublicKey(key) })
        };
        list.peer.iter().map(read).collect()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("folder", &self.folder).field("name", &self.name).finish_non_exhaustive()
    }
}

fn check(name: &str, key: PublicKey) -> [u8; CHECK_BYTES] {
    let digest = ring::digest::digest(&ring::digest::SHA256, &[name.as_bytes(), &key.0].concat());
    digest.as_ref().first_chunk().copied().unwrap_or_default()
}

fn read_line(line: &str) -> Result<Peer, PairingError> {
    let mut parts = line.trim().splitn(3, ':');
    if parts.next() != Some(LINE_BEGINS) {
        return Err(PairingError::Line("it does not begin with `farlink:`"));
    }
    let name = parts.next().unwrap_or_default();
    check_name(name)?;
    let bytes =
        parts.next().and_then(from_hexadecimal).ok_or(PairingError::Line("its digits are damaged"))?;
    let bytes: [u8; 32 + CHECK_BYTES] =
        bytes.try_into().map_err(|_| PairingError::Line("it is cut off, or too long"))?;
    let (key, given) = bytes.split_at(32);
    let key = PublicKey(key.try_into().map_err(|_| PairingError::Line("it is cut off"))?);
    if given != check(name, key) {
        return Err(PairingError::Line("a letter of it is wrong"));
    }
    Ok(Peer { name: name.to_owned(), key })
}

fn check_name(name: &str) -> Result<(), PairingError> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(fits) {
        return Err(PairingError::Name(name.to_owned()));
    }
    Ok(())
}

/// The machine's name without its domain, as far as it can be a name of ours.
fn machine_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| std::env::var("HOSTNAME"));
    let name: String = name
        .unwrap_or_default()
        .trim()
        .chars()
        .take_while(|letter| letter.is_ascii_alphanumeric() || "-_".contains(*letter))
        .take(NAME_BYTES_MAX)
        .collect();
    if name.is_empty() { "farbird".to_owned() } else { name }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    digits.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

fn file_error<'a>(what: &'static str, path: &'a Path) -> impl Fn(std::io::Error) -> PairingError + 'a {
    move |error| PairingError::File { what, path: path.to_owned(), error }
}

fn make_folder(folder: &Path) -> Result<(), PairingError> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(file_error("make the folder", folder))
}

fn read_private(path: &Path) -> Result<String, PairingError> {
    let metadata = std::fs::metadata(path).map_err(|error| PairingError::File {
        what: "read the key (`farbird pair` makes it)",
        path: path.to_owned(),
        error,
    })?;
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 != 0 {
        return Err(PairingError::Exposed(path.to_owned()));
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(PairingError::Damaged { path: path.to_owned(), reason: "it is too long".to_owned() });
    }
    std::fs::read_to_string(path).map_err(file_error("read", path))
}

/// Writes a file that only its owner can read: as a whole, or not at all.
fn write_private(path: &Path, bytes: &[u8]) -> Result<(), PairingError> {
    let beside = path.with_extension(format!("new-{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.and_then(|()| std::fs::rename(&beside, path)).map_err(file_error("write", path))
}

fn read_list(folder: &Path) -> Result<List, PairingError> {
    let path = folder.join(PEERS_FILE);
    match std::fs::metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(List::default()),
        Ok(metadata) if metadata.len() > FILE_BYTES_MAX => {
            return Err(PairingError::Damaged { path, reason: "it is too long".to_owned() });
        }
        _ => {}
    }
    let text = std::fs::read_to_string(&path).map_err(file_error("read", &path))?;
    toml::from_str(&text).map_err(|error| PairingError::Damaged { path, reason: error.to_string() })
}

fn write_list(folder: &Path, list: &List) -> Result<(), PairingError> {
    let mut text = String::from("# Written by `farbird pair`.\n");
    if let Some(name) = &list.name {
        text.push_str(&format!("name = \"{name}\"\n"));
    }
    for (table, entries) in [("peer", &list.peer), ("revoked", &list.revoked)] {
        for Entry { name, key } in entries {
            text.push_str(&format!("\n[[{table}]]\nname = \"{name}\"\nkey = \"{key}\"\n"));
        }
    }
    write_private(&folder.join(PEERS_FILE), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> (tempfile::TempDir, Keys, Keys) {
        let folder = tempfile::tempdir().unwrap();
        let london = Keys::open_or_create(&folder.path().join("london"), Some("london")).unwrap();
        let tokyo = Keys::open_or_create(&folder.path().join("tokyo"), Some("tokyo")).unwrap();
        (folder, london, tokyo)
    }

    #[test]
    fn a_line_makes_the_other_end_known_and_a_revocation_unknown_for_good() {
        let (_folder, london, tokyo) = two();
        assert_eq!(london.peer(tokyo.public()), None);
        london.trust(&tokyo.line(), None).unwrap();
        london.trust(&format!("  {}\n", tokyo.line()), None).unwrap();
        assert_eq!(london.peers(), [Peer { name: "tokyo".to_owned(), key: tokyo.public() }]);
        // Another process of the same end sees it, and what was revoked meanwhile.
        let other = Keys::open(&london.folder).unwrap();
        assert!(other.peer(tokyo.public()).is_some());
        london.revoke("tokyo").unwrap();
        assert_eq!(london.peer(tokyo.public()), None);
        other.reload().unwrap();
        assert_eq!(other.peer(tokyo.public()), None);
        assert!(
            matches!(london.trust(&tokyo.line(), None), Err(PairingError::Revoked(name)) if name == "tokyo")
        );
        assert!(matches!(london.revoke("tokyo"), Err(PairingError::Unknown(_))));
    }

    #[test]
    fn damaged_and_own_lines_are_told_apart() {
        let (_folder, london, tokyo) = two();
        let line = tokyo.line();
        for end in 0..line.len() {
            assert!(london.trust(&line[..end], None).is_err(), "cut at {end}");
        }
        let renamed = line.replace("tokyo", "osaka");
        assert!(matches!(london.trust(&renamed, None), Err(PairingError::Line(_))));
        assert!(matches!(london.trust(&london.line(), None), Err(PairingError::Own)));
        assert!(matches!(london.trust("farlink:../x:00", None), Err(PairingError::Name(_))));
        assert!(london.peers().is_empty());
    }

    #[test]
    fn a_name_stands_for_one_key() {
        let (folder, london, tokyo) = two();
        london.trust(&tokyo.line(), None).unwrap();
        let other = Keys::open_or_create(&folder.path().join("other"), Some("tokyo")).unwrap();
        assert!(matches!(london.trust(&other.line(), None), Err(PairingError::Taken(_))));
        london.trust(&other.line(), Some("tokyo-2")).unwrap();
        assert_eq!(london.peers().len(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, london, _tokyo) = two();
        let path = london.folder.join(KEY_FILE);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(Keys::open(&london.folder), Err(PairingError::Exposed(_))));
    }

    #[test]
    fn a_damaged_list_trusts_nobody() {
        let (_folder, london, tokyo) = two();
        london.trust(&tokyo.line(), None).unwrap();
        std::fs::write(london.folder.join(PEERS_FILE), "[[peer]]\nname = 3").unwrap();
        assert!(london.reload().is_err());
        assert_eq!(london.peer(tokyo.public()), None);
    }
}
