//! Giving back the contents of BLOBs whose rows are gone.

use crate::Result;
use crate::blob::references::{Reaped, reap};
use crate::store::Inner;

/// BLOBs looked at in one step.
const BLOBS_PER_STEP: usize = 100;

/// Looks through some of the BLOBs that were released.
pub(super) fn sweep(inner: &Inner) -> Result<Reaped> {
    let guard = inner.begin_write();
    reap(inner, &guard, BLOBS_PER_STEP)
}
