//! The values of a subquery that IN looks among: their equality keys, sorted, one behind the other. Takes a fraction of what
//! values in a hash table would take, so that sets of millions stay within a statement's memory.

use std::mem::{Discriminant, discriminant};

use farbird_budget::Reservation;
use farbird_types::{Collation, Value, compare};

/// Values of one kind, and whether NULL is among them.
pub(super) struct ValueSet {
    collation: Collation,
    keys: Vec<u8>,
    /// Where each key ends; where it begins too, until they are sorted.
    places: Vec<(usize, usize)>,
    kind: Option<Discriminant<Value>>,
    has_null: bool,
    memory: Reservation,
}

/// What became of a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    Added,
    /// It is of another kind than the others, or one that has no key.
    Misfit,
    /// There is no memory for it.
    NoRoom,
}

/// What is known of a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Membership {
    Among,
    /// `unknown`: there is a NULL, or it is one itself.
    NotAmong {
        unknown: bool,
    },
    /// Of another kind than the values: keys do not tell.
    Incomparable,
}

impl ValueSet {
    pub(super) fn new(collation: Collation, memory: Reservation) -> ValueSet {
        ValueSet { collation, keys: Vec::new(), places: Vec::new(), kind: None, has_null: false, memory }
    }

    /// Adds a value. Before [`ValueSet::finish`].
    pub(super) fn push(&mut self, value: &Value) -> Pushed {
        if value.is_null() {
            self.has_null = true;
            return Pushed::Added;
        }
        // BLOBs are compared by their contents.
        if matches!(value, Value::Blob(_))
            || *self.kind.get_or_insert(discriminant(value)) != discriminant(value)
        {
            return Pushed::Misfit;
        }
        let start = self.keys.len();
        compare::equality_key(value, self.collation, &mut self.keys);
        // Twice what they need: while they grow.
        let bytes = 2 * (self.keys.len() - start + size_of::<(usize, usize)>());
        if !self.memory.try_grow(bytes) {
            return Pushed::NoRoom;
        }
        self.places.push((start, self.keys.len()));
        Pushed::Added
    }

    /// To be called behind the last value.
    pub(super) fn finish(&mut self) {
        let keys = &self.keys;
        let key = |place: &(usize, usize)| keys.get(place.0..place.1).unwrap_or_default();
        self.places.sort_unstable_by(|a, b| key(a).cmp(key(b)));
        self.places.dedup_by(|a, b| key(a) == key(b));
    }

    /// Whether a value is among them.
    pub(super) fn contains(&self, value: &Value) -> Membership {
        let is_empty = self.places.is_empty();
        if is_empty || value.is_null() {
            return Membership::NotAmong { unknown: self.has_null || !is_empty };
        }
        if self.kind != Some(discriminant(value)) {
            return Membership::Incomparable;
        }
        let mut wanted = Vec::new();
        compare::equality_key(value, self.collation, &mut wanted);
        let key = |place: &(usize, usize)| self.keys.get(place.0..place.1).unwrap_or_default();
        match self.places.binary_search_by(|place| key(place).cmp(&wanted)) {
            Ok(_) => Membership::Among,
            Err(_) => Membership::NotAmong { unknown: self.has_null },
        }
    }
}
