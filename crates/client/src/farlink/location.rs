//! How a database behind a farlink is named: `farlink://site/database?option=value&option=value`.
//!
//! What a name says of the link goes before what the program says in its options. An option that is not known, or said twice, is an
//! error: what is misspelt must not silently have no effect.

use std::path::PathBuf;

use farbird_types::{Error, Result, isc};

use super::Options;
use crate::farlink_options::Transport;

/// A database behind a farlink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FarlinkLocation {
    /// HOST or HOST:PORT of the origin.
    pub(crate) site: String,
    /// Path or alias, as the server knows it.
    pub(crate) database: String,
    said: Said,
}

/// What a name says of the link.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Said {
    keys: Option<PathBuf>,
    transport: Option<Transport>,
    deferred_prepare: Option<bool>,
    optimistic_writes: Option<bool>,
}

impl FarlinkLocation {
    /// `farlink://site/database`; a path that begins at the root has a second slash. `None` for other ways to a server.
    pub(crate) fn parse(text: &str) -> Result<Option<FarlinkLocation>> {
        let Some((scheme, rest)) = text.split_once("://") else { return Ok(None) };
        if !scheme.eq_ignore_ascii_case("farlink") {
            return Ok(None);
        }
        let (place, said) = match rest.split_once('?') {
            Some((place, options)) => (place, Said::parse(options).map_err(|words| refused(text, &words))?),
            None => (rest, Said::default()),
        };
        match place.split_once('/') {
            Some((site, database)) if !site.is_empty() && !database.is_empty() => {
                Ok(Some(FarlinkLocation { site: site.to_owned(), database: database.to_owned(), said }))
            }
            _ => Err(refused(
                text,
                "a database behind a farlink is written farlink://HOST/database or farlink://HOST:PORT/database",
            )),
        }
    }

    /// How its site is reached: as the name says, else as the program does.
    pub(crate) fn options(&self, program: &Options) -> Options {
        let Said { keys, transport, deferred_prepare, optimistic_writes } = &self.said;
        Options {
            keys: keys.clone().unwrap_or_else(|| program.keys.clone()),
            transport: transport.unwrap_or(program.transport),
            deferred_prepare: deferred_prepare.unwrap_or(program.deferred_prepare),
            optimistic_writes: optimistic_writes.unwrap_or(program.optimistic_writes),
        }
    }
}

impl Said {
    fn parse(text: &str) -> std::result::Result<Said, String> {
        let mut said = Said::default();
        for option in text.split('&') {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let is_first = match name {
                "keys" if value.is_empty() => return Err("`keys` names no folder".to_owned()),
                "keys" => said.keys.replace(value.into()).is_none(),
                "transport" => said.transport.replace(transport(value)?).is_none(),
                "deferred-prepare" => said.deferred_prepare.replace(boolean(name, value)?).is_none(),
                "optimistic-writes" => said.optimistic_writes.replace(boolean(name, value)?).is_none(),
                _ => {
                    return Err(format!(
                        "`{name}` is none of keys, transport, deferred-prepare, optimistic-writes"
                    ));
                }
            };
            if !is_first {
                return Err(format!("`{name}` is said twice"));
            }
        }
        Ok(said)
    }
}

fn transport(value: &str) -> std::result::Result<Transport, String> {
    match value {
        "auto" => Ok(Transport::Auto),
        "quic" => Ok(Transport::Quic),
        "tcp" => Ok(Transport::Tcp),
        _ => Err(format!("`transport` is auto, quic or tcp, not `{value}`")),
    }
}

fn boolean(name: &str, value: &str) -> std::result::Result<bool, String> {
    value.parse().map_err(|_| format!("`{name}` is true or false, not `{value}`"))
}

fn refused(text: &str, words: &str) -> Error {
    Error::new(isc::IO_ERROR).with("connect").with(text).and(isc::RANDOM).with(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> FarlinkLocation {
        FarlinkLocation::parse(text).unwrap().unwrap()
    }

    #[test]
    fn locations_name_site_and_database() {
        for (text, site, database) in [
            ("farlink://db.example.com/app", "db.example.com", "app"),
            ("FARLINK://db:4000//data/app.fdb", "db:4000", "/data/app.fdb"),
            ("farlink://[::1]:4000/C:\\app.fdb", "[::1]:4000", "C:\\app.fdb"),
            ("farlink://db/app?transport=tcp", "db", "app"),
        ] {
            let location = parsed(text);
            assert_eq!((location.site.as_str(), location.database.as_str()), (site, database), "{text}");
        }
        for other in ["db:app", "inet://db/app", "/farlink.fdb"] {
            assert_eq!(FarlinkLocation::parse(other), Ok(None), "{other}");
        }
        for bad in ["farlink://", "farlink://db", "farlink://db/", "farlink:///app", "farlink://db?keys=a/b"]
        {
            assert!(FarlinkLocation::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_name_says_goes_before_what_the_program_says() {
        let program = Options {
            keys: "/etc/app".into(),
            transport: Transport::Quic,
            deferred_prepare: true,
            optimistic_writes: false,
        };
        assert_eq!(parsed("farlink://db/app").options(&program), program);
        let text =
            "farlink://db/app?optimistic-writes=true&transport=tcp&deferred-prepare=false&keys=/srv/keys";
        let expected = Options {
            keys: "/srv/keys".into(),
            transport: Transport::Tcp,
            deferred_prepare: false,
            optimistic_writes: true,
        };
        assert_eq!(parsed(text).options(&program), expected);
    }

    #[test]
    fn options_that_have_no_effect_are_refused() {
        for (options, words) in [
            ("", "`` is none of"),
            ("optimistic_writes=true", "`optimistic_writes` is none of"),
            ("transport=udp", "not `udp`"),
            ("optimistic-writes", "not ``"),
            ("deferred-prepare=1", "not `1`"),
            ("keys=", "names no folder"),
            ("transport=tcp&transport=tcp", "said twice"),
        ] {
            let error = FarlinkLocation::parse(&format!("farlink://db/app?{options}")).unwrap_err();
            assert!(error.has(isc::IO_ERROR) && error.message().contains(words), "{options}: {error:?}");
        }
    }
}
