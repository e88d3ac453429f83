//! What a backup holds, and what a restored database is like.
//!
//! Source: wire-protocol.md, 11.5 (isc_spb_bkp_, isc_spb_res_).

use farbird_types::Result;
use farbird_wire::clumplet::spb::{self, backup, restore};

use crate::service_action::ServiceAction;
use crate::service_properties::ReplicaMode;

/// What a backup holds. The default is everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BackupOptions {
    /// No rows.
    pub metadata_only: bool,
    /// Versions of rows that nobody needs any more are left where they are.
    pub no_garbage_collection: bool,
    /// Pages with wrong checksums are taken.
    pub ignore_checksums: bool,
    /// Transactions in limbo are passed over.
    pub ignore_limbo: bool,
    /// Only the same kind of machine can restore it.
    pub non_transportable: bool,
    /// External tables become ordinary ones.
    pub convert_external: bool,
    /// Database triggers do not run.
    pub no_database_triggers: bool,
    /// It is compressed (Firebird 4 and later).
    pub zip: bool,
    /// Tables whose rows are left out, as a SIMILAR TO pattern.
    pub skip_data: Option<String>,
    /// Tables whose rows are taken, as a SIMILAR TO pattern (Firebird 4 and later).
    pub include_data: Option<String>,
    /// Threads that the server may use (Firebird 5).
    pub parallel_workers: Option<u32>,
}

impl BackupOptions {
    /// The action, to this file.
    pub(crate) fn action(&self, database: &str, file: &str) -> Result<ServiceAction> {
        let bits = [
            (self.metadata_only, u32::from(backup::METADATA_ONLY)),
            (self.no_garbage_collection, u32::from(backup::NO_GARBAGE_COLLECT)),
            (self.ignore_checksums, u32::from(backup::IGNORE_CHECKSUMS)),
            (self.ignore_limbo, u32::from(backup::IGNORE_LIMBO)),
            (self.non_transportable, u32::from(backup::NON_TRANSPORTABLE)),
            (self.convert_external, u32::from(backup::CONVERT)),
            (self.no_database_triggers, backup::NO_TRIGGERS),
            (self.zip, backup::ZIP),
        ];
        let mut action = ServiceAction::new(spb::action::BACKUP)
            .text(spb::DBNAME, database)?
            .text(backup::FILE, file)?
            .integer(spb::OPTIONS, sum(&bits));
        if let Some(pattern) = &self.skip_data {
            action = action.text(backup::SKIP_DATA, pattern)?;
        }
        if let Some(pattern) = &self.include_data {
            action = action.text(backup::INCLUDE_DATA, pattern)?;
        }
        if let Some(workers) = self.parallel_workers {
            action = action.integer(backup::PARALLEL_WORKERS, workers);
        }
        Ok(action)
    }
}

/// What a restored database is like. The default is a new database, as it was.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestoreOptions {
    /// A database of that name is replaced; it is an error by default.
    pub replace: bool,
    /// No rows.
    pub metadata_only: bool,
    /// Indices are there but not in use.
    pub deactivate_indices: bool,
    /// Without shadows.
    pub no_shadows: bool,
    /// Constraints are left out.
    pub no_validity: bool,
    /// Each table is committed by itself, so that what is damaged does not take everything with it.
    pub one_at_a_time: bool,
    /// No room is left on data pages for versions of rows.
    pub use_all_space: bool,
    /// Page size in bytes; that of the backup if `None`.
    pub page_size: Option<u32>,
    /// Pages of cache that it wants.
    pub page_buffers: Option<u32>,
    /// Whether nothing may be changed in it.
    pub read_only: Option<bool>,
    /// What it is in replication (Firebird 4 and later).
    pub replica: Option<ReplicaMode>,
    /// Tables whose rows are left out, as a SIMILAR TO pattern.
    pub skip_data: Option<String>,
    /// Tables whose rows are taken, as a SIMILAR TO pattern (Firebird 4 and later).
    pub include_data: Option<String>,
    /// Character set of texts that were written into UNICODE_FSS columns without a check, to repair them.
    pub fix_unicode_data: Option<String>,
    /// The same of names and source texts.
    pub fix_unicode_metadata: Option<String>,
    /// Threads that the server may use (Firebird 5).
    pub parallel_workers: Option<u32>,
}

impl RestoreOptions {
    /// The action, from this file.
    pub(crate) fn action(&self, database: &str, file: &str) -> Result<ServiceAction> {
        let bits = [
            (self.replace, restore::REPLACE),
            (!self.replace, restore::CREATE),
            (self.metadata_only, u32::from(restore::METADATA_ONLY)),
            (self.deactivate_indices, restore::DEACTIVATE_IDX),
            (self.no_shadows, restore::NO_SHADOW),
            (self.no_validity, restore::NO_VALIDITY),
            (self.one_at_a_time, restore::ONE_AT_A_TIME),
            (self.use_all_space, restore::USE_ALL_SPACE),
        ];
        let mut action = ServiceAction::new(spb::action::RESTORE)
            .text(spb::DBNAME, database)?
            .text(backup::FILE, file)?
            .integer(spb::OPTIONS, sum(&bits));
        let texts = [
            (restore::SKIP_DATA, &self.skip_data),
            (restore::INCLUDE_DATA, &self.include_data),
            (restore::FIX_FSS_DATA, &self.fix_unicode_data),
            (restore::FIX_FSS_METADATA, &self.fix_unicode_metadata),
        ];
        for (tag, text) in texts {
            if let Some(text) = text {
                action = action.text(tag, text)?;
            }
        }
        let numbers = [
            (restore::PAGE_SIZE, self.page_size),
            (restore::BUFFERS, self.page_buffers),
            (restore::PARALLEL_WORKERS, self.parallel_workers),
        ];
        for (tag, number) in numbers {
            if let Some(number) = number {
                action = action.integer(tag, number);
            }
        }
        action = match self.read_only {
            Some(true) => action.byte(restore::ACCESS_MODE, restore::AM_READONLY),
            Some(false) => action.byte(restore::ACCESS_MODE, restore::AM_READWRITE),
            None => action,
        };
        Ok(match self.replica {
            Some(ReplicaMode::None) => action.byte(restore::REPLICA_MODE, restore::RM_NONE),
            Some(ReplicaMode::ReadOnly) => action.byte(restore::REPLICA_MODE, restore::RM_READONLY),
            Some(ReplicaMode::ReadWrite) => action.byte(restore::REPLICA_MODE, restore::RM_READWRITE),
            None => action,
        })
    }
}

fn sum(bits: &[(bool, u32)]) -> u32 {
    bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum()
}
