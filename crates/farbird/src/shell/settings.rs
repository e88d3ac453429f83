//! What SET changes: how results look and what is said beside them.

use farbird::Dialect;

use super::output::{BlobDisplay, Format, Style};

/// The shell's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) style: Style,
    /// The format to go back to when expanded rows are switched off.
    pub(super) format_before: Format,
    /// The SQL dialect of statements, and of a database that is made.
    pub(super) dialect: Dialect,
    /// Whether a script ends at its first error.
    pub(super) bail: bool,
    /// Whether definitions commit at once.
    pub(super) autoddl: bool,
    /// Whether changed rows are counted.
    pub(super) count: bool,
    /// Whether each statement is shown before it runs.
    pub(super) echo: bool,
    pub(super) plan: Plan,
    /// Whether the time of each statement is told.
    pub(super) timing: bool,
    /// Whether what each statement does with the rows of tables is told.
    pub(super) per_table: bool,
    /// Whether packets, bytes and round trips of each statement are told.
    pub(super) wire: bool,
    pub(super) pager: bool,
    /// Rows of a result that are shown; all if none.
    pub(super) rows_max: Option<u64>,
}

/// What becomes of plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// They are not shown.
    Off,
    /// They are shown before their statements run.
    On,
    /// They are shown and nothing runs.
    Only,
}

impl Settings {
    pub(super) fn new(format: Format) -> Settings {
        Settings {
            style: Style::new(format),
            format_before: if format == Format::Expanded { Format::Table } else { format },
            dialect: Dialect::Three,
            bail: true,
            autoddl: true,
            count: false,
            echo: false,
            plan: Plan::Off,
            timing: false,
            per_table: false,
            wire: false,
            pager: true,
            rows_max: None,
        }
    }

    /// Expanded rows, or the format that was before.
    pub(super) fn expand(&mut self, on: bool) {
        if on && self.style.format != Format::Expanded {
            self.format_before = self.style.format;
            self.style.format = Format::Expanded;
        } else if !on && self.style.format == Format::Expanded {
            self.style.format = self.format_before;
        }
    }

    /// All settings with their values, for people.
    pub(super) fn list(&self) -> Vec<(&'static str, String)> {
        let on = |on: bool| if on { "ON" } else { "OFF" }.to_owned();
        vec![
            ("AUTODDL", on(self.autoddl)),
            ("BAIL", on(self.bail)),
            (
                "BLOBDISPLAY",
                match self.style.blobs {
                    BlobDisplay::All => "ALL".to_owned(),
                    BlobDisplay::Off => "OFF".to_owned(),
                    BlobDisplay::Subtype(subtype) => subtype.to_string(),
                },
            ),
            ("COUNT", on(self.count)),
            ("ECHO", on(self.echo)),
            ("FORMAT", self.style.format.name()),
            ("HEADING", on(self.style.heading)),
            ("LIST", on(self.style.format == Format::Expanded)),
            ("MAXROWS", self.rows_max.map_or_else(|| "0".to_owned(), |rows| rows.to_string())),
            ("NULL", format!("'{}'", self.style.null)),
            ("PAGER", on(self.pager)),
            ("PER_TABLE_STATS", on(self.per_table)),
            ("PLAN", on(self.plan != Plan::Off)),
            ("PLANONLY", on(self.plan == Plan::Only)),
            ("SQL DIALECT", self.dialect.number().to_string()),
            ("STATS", on(self.timing)),
            ("WIRE_STATS", on(self.wire)),
        ]
    }
}
