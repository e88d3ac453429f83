//! How the server introduces itself to programs.
//!
//! Drivers and tools parse these texts (`XX-Vmajor.minor.revision.build Product`) to choose their queries, and Flyway,
//! Liquibase and others work only with a product called Firebird: so they are those of the Firebird whose language,
//! catalog and protocol these are. Our own name and version stand where people read: the log, the shell, and
//! `RDB$GET_CONTEXT('SYSTEM', 'FARBIRD_VERSION')`.
//! Source: Firebird 5.0.4 on Linux (isc_info_firebird_version and its kin).

/// isc_info_firebird_version, isc_info_svc_server_version.
pub(crate) const FIREBIRD_VERSION: &str = "LI-V5.0.4.1812 Firebird 5.0";
/// isc_info_isc_version: the InterBase compatible number that goes with Firebird 5.0.
pub(crate) const ISC_VERSION: &str = "LI-V6.3.4.1812 Firebird 5.0";
/// isc_info_svc_implementation.
pub(crate) const IMPLEMENTATION: &str =
    if cfg!(target_arch = "aarch64") { "Firebird/Linux/ARM64" } else { "Firebird/Linux/AMD/Intel/x64" };
