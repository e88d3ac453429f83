//! Attaching for maintenance: what is asked for is done before the session begins.

use std::path::Path;
use std::sync::Arc;

use farbird_types::Result;

use super::Engine;
use crate::api::AttachOptions;
use crate::attachment::Attachment;
use crate::maintenance::Maintenance;
use crate::session::Interrupt;
use crate::users::UserDirectory;

impl Engine {
    /// Attaches and does what is asked for. `known` is called with what stops it before it may have to wait.
    ///
    /// # Durability
    /// Shutdown mode and settings are on the disk when this returns, and stay after a restart.
    ///
    /// # Errors
    /// As [`Engine::attach`]; `isc_no_priv`, `isc_adm_task_denied` for those who may not; `isc_bad_shutdown_mode` for a mode that is
    /// not on the way, `isc_shutfail` if others have not left in time, `isc_shutinprog` while somebody else shuts it down; `isc_obj_in_use`
    /// and `isc_cant_validate` if others are attached who must not be.
    pub fn attach_to_maintain(
        self: &Arc<Self>,
        path: &Path,
        options: AttachOptions,
        users: Arc<dyn UserDirectory>,
        maintenance: &Maintenance,
        known: &mut dyn FnMut(Arc<Interrupt>),
    ) -> Result<Attachment> {
        let mut attachment = self.attach_silently(path, options, users)?;
        known(attachment.interrupt());
        attachment.maintain(maintenance)?;
        Ok(attachment)
    }
}
