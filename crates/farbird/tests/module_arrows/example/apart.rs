//! Is imported, and imports only in words and in a test: "crate::second::Second".

/// See crate::second::Second.
pub struct Apart;

#[cfg(test)]
mod tests {
    use crate::second::Second;
}
