//! When the objects of a catalog changed, by their names: for those who hold what they made of an earlier catalog.

use crate::ordered_map::OrderedMap;

/// Most names whose changes are remembered one by one.
const STAMPS_MAX: usize = 20_000;

/// When the objects of a catalog changed last. A change within a transaction that is rolled back has a stamp of its own, so
/// stamps are compared for being the same and not for their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stamps {
    by_name: OrderedMap<String, u64>,
    /// The last change of what concerns every statement: privileges, roles, the database itself.
    general: u64,
}

impl Stamps {
    /// A name stands for something else now.
    pub(crate) fn note(&mut self, name: &str, version: u64) {
        if self.by_name.len() >= STAMPS_MAX {
            *self = Stamps::default();
            self.note_general(version);
        }
        self.by_name.insert(name.to_owned(), version);
    }

    /// When a name changed last; none if nobody can have been bound to what it was before.
    pub(crate) fn of(&self, name: &str) -> Option<u64> {
        self.by_name.get(name).copied()
    }

    /// When everything may have changed last.
    pub(crate) fn general(&self) -> u64 {
        self.general
    }

    /// Everything may have another meaning now.
    pub(crate) fn note_general(&mut self, version: u64) {
        self.general = version;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_forgotten_by_counting_as_changes_of_everything() {
        let mut stamps = Stamps::default();
        stamps.note("FIRST", 5);
        assert_eq!((stamps.of("FIRST"), stamps.general()), (Some(5), 0));
        for number in 0..STAMPS_MAX {
            stamps.note(&format!("S{number}"), 7);
        }
        assert!(stamps.by_name.len() <= STAMPS_MAX);
        assert_eq!((stamps.of("FIRST"), stamps.general()), (None, 7));
    }
}
