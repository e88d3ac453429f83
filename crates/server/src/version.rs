//! How the server introduces itself.
//!
//! Drivers parse the first word (`XX-Vmajor.minor.revision.build`) to choose their queries: it says Firebird 5.0's
//! number. People read the rest: it says what we are.

/// isc_info_firebird_version, isc_info_svc_server_version.
pub(crate) const FIREBIRD_VERSION: &str = concat!("LI-V5.0.4.1812 Farbird ", env!("CARGO_PKG_VERSION"));
/// isc_info_isc_version: the InterBase compatible number that goes with Firebird 5.0.
pub(crate) const ISC_VERSION: &str = concat!("LI-V6.3.4.1812 Farbird ", env!("CARGO_PKG_VERSION"));
/// isc_info_svc_implementation.
pub(crate) const IMPLEMENTATION: &str =
    if cfg!(target_arch = "aarch64") { "Farbird/Linux/ARM64" } else { "Farbird/Linux/AMD64" };
