//! What speculation may take at the edge: names and defaults of its limits.

/// Limits of speculation at an edge. Nothing that programs or origins do grows beyond them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Rules kept, those included that are still being learned. The one not met for longest goes first.
    pub rules: usize,
    /// Rules that end in the same statement.
    pub rules_of_statement: usize,
    /// Longest statement text that rules are learned of, in bytes.
    pub text_bytes: usize,
    /// Most parameters of a statement that rules are learned of.
    pub parameters: usize,
    /// Hits that make a rule.
    pub hits: u32,
    /// Most hits that a rule needs which has been dropped again and again.
    pub hits_max: u32,
    /// Statements that may be run ahead for a cursor before any of them is used, for a rule that is new.
    pub window: u32,
    /// The most that it becomes as long as nearly all are used.
    pub window_max: u32,
    /// The least that it becomes when few are.
    pub window_min: u32,
    /// Openings of cursors of which a program's learner remembers rows.
    pub openings: usize,
    /// Rows of one of them.
    pub rows: usize,
    /// Bytes of those rows.
    pub row_bytes: usize,
    /// How many rows a program may pass over in a loop before its place in it is lost.
    pub look_ahead: usize,
    /// How deep loops nest.
    pub depth: usize,
    /// Statements that are asked ahead with one cursor, all depths together.
    pub statements_ahead: usize,
    /// Bytes of results that a program's store keeps.
    pub result_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            rules: 4_096,
            rules_of_statement: 8,
            text_bytes: 64 * 1024,
            parameters: 64,
            hits: 2,
            hits_max: 64,
            window: 64,
            window_max: 4_096,
            window_min: 4,
            openings: 16,
            rows: 4_096,
            row_bytes: 256 * 1024,
            look_ahead: 64,
            depth: 4,
            statements_ahead: 32,
            result_bytes: 16 * 1024 * 1024,
        }
    }
}

/// What speculation has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Tally {
    /// Statements that were run ahead.
    pub guessed: u64,
    /// Results that answered a program; each counts once.
    pub used: u64,
    /// Results that were dropped and had answered nobody.
    pub wasted: u64,
    /// Executions for which there was no result although the statement has a rule.
    pub missed: u64,
    /// Round trips that programs did not make: one for each answer.
    pub trips_saved: u64,
}

impl Tally {
    /// Adds what another has counted.
    pub fn add(&mut self, other: &Tally) {
        self.guessed += other.guessed;
        self.used += other.used;
        self.wasted += other.wasted;
        self.missed += other.missed;
        self.trips_saved += other.trips_saved;
    }
}
