//! What is known of a pattern as a deterministic automaton: the sets of places that it can be at, and which follows which by which character.
//!
//! States are made when a text first leads to them, so that a pattern is run over most texts at a look-up per character. They take no more
//! than [`BYTES_MAX`]: whoever finds no room goes on without.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// What the states of a pattern may take, more or less.
const BYTES_MAX: usize = 256 << 10;
/// A byte of a text below this one is a character.
const ASCII: usize = 128;
/// No state is known to follow.
const UNKNOWN: u32 = u32::MAX;

/// The states of a pattern that are known.
#[derive(Debug, Default)]
pub(crate) struct PatternStates {
    states: Vec<State>,
    numbers: HashMap<Arc<[usize]>, u32>,
    /// What follows by characters beyond ASCII.
    others: HashMap<(u32, char), u32>,
    bytes: usize,
}

/// A set of places.
#[derive(Debug)]
struct State {
    places: Arc<[usize]>,
    /// Whether a text that ends here matches.
    is_match: bool,
    /// What follows by each character of ASCII.
    next: Box<[u32; ASCII]>,
}

/// The number of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StateNumber(u32);

impl PatternStates {
    /// The state before a text, once it has been added: it is the first one.
    pub(crate) fn first(&self) -> Option<StateNumber> {
        (!self.states.is_empty()).then_some(StateNumber(0))
    }

    /// The places of a state.
    pub(crate) fn places(&self, state: StateNumber) -> &[usize] {
        self.states.get(state.0 as usize).map_or(&[], |state| &*state.places)
    }

    /// Whether a text that ends at a state matches.
    pub(crate) fn is_match(&self, state: StateNumber) -> bool {
        self.states.get(state.0 as usize).is_some_and(|state| state.is_match)
    }

    /// What follows a state by a character, if that is known.
    pub(crate) fn next(&self, state: StateNumber, character: char) -> Option<StateNumber> {
        let known = match character.is_ascii() {
            true => *self.states.get(state.0 as usize)?.next.get(character as usize)?,
            false => *self.others.get(&(state.0, character))?,
        };
        (known != UNKNOWN).then_some(StateNumber(known))
    }

    /// The state with these places; `None` if it is new and there is no room for it.
    pub(crate) fn add(&mut self, mut places: Vec<usize>, is_match: bool) -> Option<StateNumber> {
        places.sort_unstable();
        let room = BYTES_MAX.saturating_sub(self.bytes);
        match self.numbers.entry(places.into()) {
            Entry::Occupied(known) => Some(StateNumber(*known.get())),
            Entry::Vacant(vacant) => {
                let places = Arc::clone(vacant.key());
                let bytes = size_of::<State>() + size_of::<[u32; ASCII]>() + size_of_val(&*places);
                if bytes > room {
                    return None;
                }
                let number = u32::try_from(self.states.len()).ok()?;
                vacant.insert(number);
                self.bytes += bytes;
                self.states.push(State { places, is_match, next: Box::new([UNKNOWN; ASCII]) });
                Some(StateNumber(number))
            }
        }
    }

    /// Notes what follows a state by a character, if there is room.
    pub(crate) fn note(&mut self, state: StateNumber, character: char, next: StateNumber) {
        if character.is_ascii() {
            let places = self.states.get_mut(state.0 as usize).map(|state| &mut state.next);
            if let Some(place) = places.and_then(|next| next.get_mut(character as usize)) {
                *place = next.0;
            }
            return;
        }
        let bytes = size_of::<((u32, char), u32)>();
        if self.bytes + bytes <= BYTES_MAX && self.others.insert((state.0, character), next.0).is_none() {
            self.bytes += bytes;
        }
    }
}
