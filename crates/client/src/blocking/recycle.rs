//! Connections that serve one user after the other: the calls of [`crate::Connection`].

use farbird_types::Result;

use super::connection::Connection;
use crate::recycle::RecyclingMethod;

impl Connection {
    /// As [`crate::Connection::recycle`].
    ///
    /// # Round trips
    /// None with [`RecyclingMethod::Fast`], one with the others. One more at most if rows that nobody wants any more are
    /// under way.
    ///
    /// # Errors
    /// As [`crate::Connection::recycle`].
    pub fn recycle(&self, method: RecyclingMethod) -> Result<()> {
        self.look();
        self.runner.run(self.inner.recycle(method))
    }

    /// Sends what wants to leave and takes what is here, without waiting.
    pub(super) fn look(&self) {
        self.runner.look();
    }
}
