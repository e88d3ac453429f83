//! `far`: what programs cost over a distance that know nothing of it, at the server and through a farlink.
//!
//! The same program runs three times: connected with the distant server itself, and twice with an edge beside it, that has never
//! seen the program and that has. Who starts link, edge and origin is the caller's affair.
//!
//! | module | what it holds |
//! |---|---|
//! | [`goal`] | what the farlink is meant to reach, and whether it has |
//! | [`line`](mod@line) | trips and bytes on the link during a piece of work |
//! | [`program`](mod@program) | the programs |
//! | [`tables`] | what they read |

pub mod goal;
pub mod line;
pub mod program;
pub mod tables;

use std::time::Duration;

use serde::Serialize;

use super::Preset;

pub use goal::{Goal, goals};
pub use line::{Line, LineFigure};
pub use program::{Done, run};

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Rows with BLOBs of any size, each read when its row has come.
    Blobs,
    /// From connecting to detaching: an outer query, and two inner ones for each of its rows.
    Nested,
    /// From nothing to the first row.
    Connect,
    /// Customers of 61 columns.
    Customers,
    /// Short transactions, each inserts a row and commits.
    Commits,
    /// In one transaction, over and over: a statement is prepared, executed, read and freed.
    Prepares,
    /// In one transaction, which is committed: INSERTs with their values in their texts, and a query like that for each.
    Texts,
    /// A transaction of READ COMMITTED for each query.
    Transactions,
    /// Queries by key of one prepared statement, without any distance.
    Points,
    /// Many narrow rows, without any distance.
    Fetch,
}

impl Work {
    /// All.
    pub const ALL: [Work; 10] = [
        Work::Blobs,
        Work::Nested,
        Work::Connect,
        Work::Customers,
        Work::Commits,
        Work::Prepares,
        Work::Texts,
        Work::Transactions,
        Work::Points,
        Work::Fetch,
    ];

    /// The name by which it is chosen.
    pub const fn name(self) -> &'static str {
        match self {
            Work::Blobs => "blobs",
            Work::Nested => "nested",
            Work::Connect => "connect",
            Work::Customers => "customers",
            Work::Commits => "commits",
            Work::Prepares => "prepares",
            Work::Texts => "texts",
            Work::Transactions => "transactions",
            Work::Points => "points",
            Work::Fetch => "fetch",
        }
    }

    /// Whether it is measured over the link; otherwise without any distance, to see what an edge in the way costs.
    pub const fn is_far(self) -> bool {
        !matches!(self, Work::Points | Work::Fetch)
    }

    /// Whether the program wants its connection compressed.
    pub const fn is_compressed(self) -> bool {
        matches!(self, Work::Blobs | Work::Customers)
    }
}

/// How much each program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Rows with BLOBs.
    pub blobs: u64,
    /// Rows of the outer query.
    pub outer: u64,
    /// Customers.
    pub customers: u64,
    /// Iterations of the loops of short transactions and statements.
    pub loops: u64,
    /// Queries by key.
    pub points: u64,
    /// Narrow rows.
    pub rows: u64,
}

impl Default for Sizes {
    /// What the farlink's goals were set for.
    fn default() -> Sizes {
        Sizes { blobs: 1_000, outer: 56, customers: 10_000, loops: 100, points: 2_000, rows: 1_000_000 }
    }
}

/// By which way a program reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Over the link itself.
    Direct,
    /// Through an edge that has never seen the program.
    FirstRun,
    /// Through the same edge once more, in a new attachment.
    SecondRun,
}

impl Way {
    /// For people.
    pub const fn about(self) -> &'static str {
        match self {
            Way::Direct => "without",
            Way::FirstRun => "farlink, first run",
            Way::SecondRun => "farlink, second run",
        }
    }
}

/// What a program asked at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// When, counted from where its time begins.
    pub at: Duration,
    /// Names of what it asked, and how often each stood there.
    pub requests: Vec<(String, u64)>,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FarFigure {
    /// The server.
    pub server: String,
    /// The program; `None` for one of others.
    pub work: Option<Work>,
    /// The command by which a program of others was run.
    pub command: Option<String>,
    /// The client generation; `None` for a program of others.
    pub preset: Option<Preset>,
    /// By which way.
    pub way: Way,
    /// Time of a round trip of the link, in milliseconds; 0 for what is measured without any.
    pub round_trip_ms: f64,
    /// How long it took, in milliseconds.
    pub elapsed_ms: f64,
    /// Whether it came to its end. If not, patience ended it.
    pub is_complete: bool,
    /// `elapsed_ms` of a complete run; of others what all of it would have taken at that pace.
    pub projected_ms: f64,
    /// What the link has carried; `None` without any.
    pub line: Option<LineFigure>,
    /// How often the program waited for an answer, of the server or of the edge beside it; `None` where nobody counts.
    pub waits: Option<u64>,
    /// How often it waited for an answer of the other end, from connecting to detaching, by count of the edge where there is one.
    pub across: Option<u64>,
    /// Rows read or written.
    pub rows: u64,
    /// Bytes of BLOBs read.
    pub content_bytes: u64,
    /// What the program asked, and when; none where nobody sees that.
    #[serde(skip)]
    pub asked: Vec<Asked>,
    /// What the link carried, and when.
    #[serde(skip)]
    pub bursts: Vec<crate::link::Burst>,
}
