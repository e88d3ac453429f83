//! Which rows a backup is to have, or a restore to take: options that several commands share.

use clap::Args;
use farbird_client::BackupOptions;
use farbird_engine::backup::ChosenTables;

/// What is said of rows.
#[derive(Args, Default)]
pub(crate) struct ChosenRows {
    /// Only definitions, no rows; sequences stand at 0.
    #[arg(long, conflicts_with_all = ["skip_data", "include_data"])]
    pub(crate) metadata_only: bool,
    /// Without the rows of tables whose name is SIMILAR TO this, in any case; `\` is the escape.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) skip_data: Option<String>,
    /// Only the rows of tables whose name is SIMILAR TO this, in any case.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) include_data: Option<String>,
}

impl ChosenRows {
    /// As the engine takes it.
    ///
    /// # Errors
    /// For what is no pattern.
    pub(crate) fn tables(&self) -> farbird_types::Result<ChosenTables> {
        match self.metadata_only {
            true => Ok(ChosenTables::none()),
            false => ChosenTables::by_patterns(self.skip_data.as_deref(), self.include_data.as_deref()),
        }
    }

    /// As a server's service takes it.
    pub(crate) fn of_server(&self) -> BackupOptions {
        BackupOptions {
            metadata_only: self.metadata_only,
            skip_data: self.skip_data.clone(),
            include_data: self.include_data.clone(),
            ..BackupOptions::default()
        }
    }

    /// Whether anything is left out.
    pub(crate) fn is_chosen(&self) -> bool {
        self.metadata_only || self.skip_data.is_some() || self.include_data.is_some()
    }
}
