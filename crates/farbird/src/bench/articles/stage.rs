//! The servers that take part: our own, started for this, and those whose addresses were given; and what is cleaned up.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, CreateOptions, Location};
use farbird_lab::articles::Server;
use farbird_types::isc;

use crate::bench::own::{OwnServer, WorkFolder, machine, password_of_file};

/// Who is measured.
#[derive(Args)]
pub(in crate::bench) struct TargetArguments {
    /// A server, with the database to use there; `own` is a Farbird server started for this, which is measured when no
    /// other is named. May be given several times: all are measured in one run. A database that there is not is created and
    /// dropped.
    #[arg(long, value_name = "HOST/PORT:DATABASE", help_heading = "Servers")]
    target: Vec<String>,
    /// User of each target in turn; the last one holds for those that follow.
    #[arg(long, value_name = "NAME", default_value = "SYSDBA", help_heading = "Servers")]
    user: Vec<String>,
    /// File with the password of each target in turn, alone or as ISC_PASSWORD=...; the last one holds for those that
    /// follow [default: FIREBIRD_PASSWORD, or masterkey].
    #[arg(long, value_name = "FILE", help_heading = "Servers")]
    password_file: Vec<PathBuf>,
    /// Where our own server keeps its databases [default: the system's temporary folder].
    #[arg(long, value_name = "DIR", help_heading = "Servers")]
    scratch: Option<PathBuf>,
}

/// What our own server is called in `--target`.
const OWN: &str = "own";
/// Its database.
const OWN_DATABASE: &str = "bench.fbd";

/// Whether an experiment uses the database of a target, or makes databases there itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bench) enum Databases {
    /// It is used: made if there is none.
    Used,
    /// The experiment makes and drops it.
    Made,
}

/// A server that takes part.
pub(in crate::bench) struct Actor {
    pub(in crate::bench) server: Server,
    /// What the server says of itself.
    pub(in crate::bench) version: String,
    /// Where it keeps its databases, if it is our own.
    pub(in crate::bench) folder: Option<PathBuf>,
    /// Whether the database was made for this, and is dropped.
    is_made: bool,
    /// Whether it is Farbird.
    pub(in crate::bench) is_farbird: bool,
}

/// All of them, and what they stand on.
pub(in crate::bench) struct Stage {
    pub(in crate::bench) actors: Vec<Actor>,
    own: Option<OwnServer>,
    /// Goes last.
    folder: WorkFolder,
}

impl Stage {
    pub(in crate::bench) fn set(arguments: &TargetArguments, databases: Databases) -> anyhow::Result<Stage> {
        let folder = WorkFolder::create(arguments.scratch.as_deref())?;
        let targets = match arguments.target.as_slice() {
            [] => vec![OWN.to_owned()],
            given => given.to_vec(),
        };
        let mut stage = Stage { actors: Vec::new(), own: None, folder };
        let mut others = 0;
        for target in targets {
            let made = if target == OWN {
                stage.add_own(databases)
            } else {
                others += 1;
                stage.add_other(&target, arguments, others - 1, databases)
            };
            if let Err(error) = made {
                let _ = stage.clear();
                return Err(error);
            }
        }
        Ok(stage)
    }

    fn add_own(&mut self, databases: Databases) -> anyhow::Result<()> {
        if self.own.is_some() {
            bail!("there is but one server of our own");
        }
        let own = OwnServer::start(self.folder.path()).context("cannot start a server")?;
        let server = Server {
            name: "Farbird".to_owned(),
            location: Location {
                host: "127.0.0.1".to_owned(),
                port: own.port(),
                database: OWN_DATABASE.to_owned(),
            },
            user: "SYSDBA".to_owned(),
            password: own.password().to_owned(),
        };
        let folder = Some(own.data().to_owned());
        self.own = Some(own);
        if databases == Databases::Used {
            create(&server)?;
        }
        let version = format!("Farbird {} of this command, on loopback", env!("CARGO_PKG_VERSION"));
        let is_made = databases == Databases::Used;
        self.actors.push(Actor { server, version, folder, is_made, is_farbird: true });
        Ok(())
    }

    fn add_other(
        &mut self,
        target: &str,
        arguments: &TargetArguments,
        number: usize,
        databases: Databases,
    ) -> anyhow::Result<()> {
        let user = arguments.user.get(number).or(arguments.user.last()).cloned().unwrap_or_default();
        let file = arguments.password_file.get(number).or(arguments.password_file.last());
        let password = password_of_file(file.map(PathBuf::as_path))?;
        let location = Location::parse(target).map_err(|error| anyhow::anyhow!(error.message()))?;
        let mut server = Server { name: String::new(), location, user, password };
        let (connection, is_made) = match attach(&server) {
            Ok(_) if databases == Databases::Made => {
                bail!("{target} exists; this benchmark makes the database itself: name one that there is not")
            }
            Ok(connection) => (connection, false),
            Err(error) if error.has(isc::IO_ERROR) && !error.has(isc::NETWORK_ERROR) => {
                (create(&server)?, true)
            }
            Err(error) => return Err(error).with_context(|| format!("cannot attach {target}")),
        };
        let told = connection.server_version()?;
        let is_made = match databases {
            Databases::Used => {
                connection.close()?;
                is_made
            }
            Databases::Made => {
                connection.drop_database()?;
                false
            }
        };
        let product = told.find("Farbird").or_else(|| told.find("Firebird")).and_then(|at| told.get(at..));
        server.name = self.distinct_name(product.unwrap_or(&told));
        let is_farbird = told.contains("Farbird");
        let version = format!("{told}, {target}");
        self.actors.push(Actor { server, version, folder: None, is_made, is_farbird });
        Ok(())
    }

    /// Two servers of one version are told apart.
    fn distinct_name(&self, name: &str) -> String {
        let same = self.actors.iter().filter(|actor| actor.server.name.starts_with(name)).count();
        if same == 0 { name.to_owned() } else { format!("{name} ({})", same + 1) }
    }

    /// Our own server, if it takes part.
    pub(in crate::bench) fn own_server(&self) -> Option<&OwnServer> {
        self.own.as_ref()
    }

    /// A folder for files, which goes with all that is in it.
    pub(in crate::bench) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// What figures depend on.
    pub(in crate::bench) fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![("machine".to_owned(), machine())];
        facts.extend(self.actors.iter().map(|actor| (actor.server.name.clone(), actor.version.clone())));
        facts
    }

    /// Takes everything away that was made. Of several failures the first is told.
    pub(in crate::bench) fn clear(self) -> anyhow::Result<()> {
        let mut result = Ok(());
        for actor in self.actors.iter().filter(|actor| actor.is_made) {
            let dropped = attach(&actor.server).and_then(Connection::drop_database);
            if result.is_ok()
                && let Err(error) = dropped
            {
                let name = &actor.server.name;
                result = Err(error).with_context(|| format!("cannot drop the database of {name}"));
            }
        }
        if let Some(own) = self.own {
            own.stop();
        }
        result
    }
}

fn attach(server: &Server) -> farbird_types::Result<Connection> {
    Connection::attach(&server.address(), &ConnectOptions::new(&server.user, &server.password))
}

fn create(server: &Server) -> anyhow::Result<Connection> {
    let options = ConnectOptions::new(&server.user, &server.password);
    // What is measured is the line; a target's database must not wait for its disk while it is loaded.
    let create = CreateOptions { forced_writes: Some(false), ..CreateOptions::default() };
    Connection::create(&server.address(), &create, &options)
        .with_context(|| format!("cannot create {}", server.location.database))
}
