//! `farbird pair`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use farbird_gateway::pairing::Keys;
use farbird_gateway::settings::keys_folder;

/// Make two ends of the farlink known to each other.
///
/// Each end has a key pair of its own, made by the first call. Without arguments prints this end's
/// line; with the line of the other end trusts that. Both ends must be given the other's line.
/// Nothing in a line is secret, but see that nobody has put in another one on the way: whoever's
/// line you paste gets in.
///
///   farbird pair                 print this end's line
///   farbird pair LINE            trust the end whose line this is
///   farbird pair --list          who is trusted
///   farbird pair --revoke NAME   trust it no longer; running links to it end within a second
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Arguments {
    /// The line that `farbird pair` has printed at the other end.
    #[arg(value_name = "LINE", conflicts_with_all = ["list", "revoke"])]
    line: Option<String>,
    /// What this end calls itself [default: the machine's name].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// What to call the other end here [default: what it calls itself].
    #[arg(long = "as", value_name = "NAME", requires = "line")]
    other: Option<String>,
    /// List the ends that are trusted.
    #[arg(long, conflicts_with = "revoke")]
    list: bool,
    /// Trust an end no longer, and never again with this key.
    #[arg(long, value_name = "NAME")]
    revoke: Option<String>,
    /// Folder of the keys [default: ./farbird-farlink].
    #[arg(long, env = "FARBIRD_FARLINK_KEYS", value_name = "DIR")]
    keys: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let folder = keys_folder(arguments.keys.as_deref());
    let keys = Keys::open_or_create(&folder, arguments.name.as_deref())?;
    let mut out = std::io::stdout().lock();
    if arguments.list {
        for peer in keys.peers() {
            writeln!(out, "{}\t{}", peer.name, peer.key)?;
        }
    } else if let Some(name) = &arguments.revoke {
        keys.revoke(name)?;
        eprintln!("{name} is trusted no longer; running links to it end within a second");
    } else {
        // The line alone goes to standard output, so that a script can take it.
        match &arguments.line {
            Some(line) => {
                let peer = keys.trust(line, arguments.other.as_deref())?;
                eprintln!(
                    "{} is trusted now. If it has not got this end's line yet, paste this one there, behind `farbird pair`:",
                    peer.name
                );
            }
            None => eprintln!("Paste this line at the other end, behind `farbird pair`:"),
        }
        writeln!(out, "{}", keys.line())?;
    }
    Ok(ExitCode::SUCCESS)
}
