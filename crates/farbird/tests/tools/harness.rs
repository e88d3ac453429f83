//! Running the program, and servers for it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

pub(crate) const FARBIRD: &str = env!("CARGO_BIN_EXE_farbird");
const PASSWORD: &str = "a secret of the tests";

/// Databases of a file or a server.
pub(crate) struct Place {
    /// What stands before a database's name.
    prefix: String,
    user: String,
    password: String,
    /// Whether it has the types that came with Firebird 4.
    pub(crate) has_all_types: bool,
    server: Option<Child>,
}

/// A folder for files, a Farbird server, and the Firebirds that are named.
pub(crate) fn places(folder: &Path) -> Vec<Place> {
    let file = Place {
        prefix: format!("{}/", folder.display()),
        user: "SYSDBA".to_owned(),
        password: String::new(),
        has_all_types: true,
        server: None,
    };
    let named = std::env::var("FARBIRD_TEST_FIREBIRD").unwrap_or_default();
    let firebirds = named.split_whitespace().map(|place| {
        let [folder, user, password] = place.split(',').collect::<Vec<_>>()[..] else {
            panic!("{place} is not FOLDER,USER,PASSWORD")
        };
        Place {
            prefix: format!("{folder}/tools_{}_", std::process::id()),
            user: user.to_owned(),
            password: password.to_owned(),
            has_all_types: false,
            server: None,
        }
    });
    [file, serve(folder)].into_iter().chain(firebirds).collect()
}

/// A Farbird server with databases in a folder.
pub(crate) fn serve(folder: &Path) -> Place {
    let mut server = Command::new(FARBIRD)
        .args(["serve", "--listen", "127.0.0.1:0", "--data", "data"])
        .current_dir(folder)
        .env("FARBIRD_SYSDBA_PASSWORD", PASSWORD)
        .env("FARBIRD_LOG", "error")
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut line = String::new();
    BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let address = line.split(" listens on ").nth(1).and_then(|rest| rest.split(',').next());
    Place {
        prefix: format!("{}:", address.expect("an address").replace(':', "/")),
        user: "SYSDBA".to_owned(),
        password: PASSWORD.to_owned(),
        has_all_types: true,
        server: Some(server),
    }
}

impl Place {
    /// A database there.
    pub(crate) fn database(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The program with arguments, in a folder.
    pub(crate) fn command(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(FARBIRD);
        command.args(arguments).current_dir(folder).stdin(Stdio::null());
        command.env("ISC_USER", &self.user).env("ISC_PASSWORD", &self.password);
        command
    }

    /// Runs the program.
    pub(crate) fn run(&self, folder: &Path, arguments: &[&str]) -> Output {
        self.command(folder, arguments).output().expect("the program runs")
    }

    /// Runs the program, which must succeed; what it says on standard output.
    pub(crate) fn succeeds(&self, folder: &Path, arguments: &[&str]) -> String {
        let output = self.run(folder, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs the program, which must end with this code; what it says on standard error.
    pub(crate) fn ends(&self, folder: &Path, arguments: &[&str], code: i32) -> String {
        let output = self.run(folder, arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stderr)
    }

    /// Runs statements, which must succeed; what they print.
    pub(crate) fn sql(&self, folder: &Path, name: &str, format: &str, statements: &str) -> String {
        self.succeeds(
            folder,
            &["sql", &self.database(name), "--create", "--format", format, "-c", statements],
        )
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            server.kill().expect("is killed");
            server.wait().expect("ends");
        }
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
