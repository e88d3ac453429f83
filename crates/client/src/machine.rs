//! Who runs the program, and where: what servers show in MON$REMOTE_OS_USER and MON$REMOTE_HOST.

/// The user of the operating system; empty if the environment does not tell.
pub(crate) fn user() -> String {
    first(&["USER", "LOGNAME", "USERNAME"])
}

/// The machine's name; empty if it cannot be told.
pub(crate) fn host() -> String {
    let told = first(&["HOSTNAME", "COMPUTERNAME"]);
    if !told.is_empty() {
        return told;
    }
    // Shells keep their HOSTNAME to themselves; where Linux has it needs no call of the system's own.
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

fn first(variables: &[&str]) -> String {
    let mut told = variables.iter().filter_map(|variable| std::env::var(variable).ok());
    told.find(|value| !value.is_empty()).unwrap_or_default()
}
