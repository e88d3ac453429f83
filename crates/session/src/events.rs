//! Events that transactions post when they commit (POST_EVENT), and who waits for them.
//!
//! An event is counted from when somebody first waits for it until nobody listens who has. Each wait is told of once: when
//! one of its events has been posted so often as it says. What it is told are the counts so far plus one, which are the
//! ones to wait for next.
//! Source: the behaviour of Firebird 3 to 5; wire-protocol.md, 6.12.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use farbird_types::{Error, Result, isc};
use parking_lot::Mutex;

/// Names that a listener may have waited for, and waits for at a time.
const NAMES_MAX: usize = 16_384;
/// Waits of a listener at a time.
const WAITS_MAX: usize = 1_024;

/// An event and a count of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCount {
    /// Its name, without spaces at the end.
    pub name: Arc<str>,
    /// In a wait: how often it must have been posted. In what is told: one more than it was.
    pub count: u32,
}

/// Called once, on the thread of who has posted the event or waits for it; must neither block nor call [`Events`].
pub type Tell = Box<dyn FnOnce(Vec<EventCount>) + Send>;

/// The events of a database.
#[derive(Default)]
pub struct Events {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    events: HashMap<Arc<str>, Event>,
    waits: BTreeMap<WaitKey, Wait>,
    listeners: HashMap<u64, Known>,
    latest_listener: u64,
    latest_wait: u64,
}

#[derive(Default)]
struct Event {
    /// How often it was posted.
    count: u32,
    /// How many listeners have waited for it.
    listeners: usize,
    waits: BTreeSet<WaitKey>,
}

/// What names a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct WaitKey {
    listener: u64,
    /// The listener's own number of it, which may be given more than once.
    id: i32,
    number: u64,
}

struct Wait {
    events: Vec<EventCount>,
    tell: Tell,
}

/// What a listener has waited for.
#[derive(Default)]
struct Known {
    names: HashSet<Arc<str>>,
    waits: usize,
    /// Names in its waits.
    awaited: usize,
}

impl Events {
    /// Somebody who is going to wait for events.
    pub fn listen(self: &Arc<Self>) -> Listener {
        let mut state = self.state.lock();
        state.latest_listener += 1;
        let number = state.latest_listener;
        state.listeners.insert(number, Known::default());
        Listener { events: Arc::clone(self), number }
    }

    /// A transaction that has posted these events, each so often, has committed.
    pub fn post(&self, posted: &[(Arc<str>, u32)]) {
        if posted.is_empty() {
            return;
        }
        let mut due = BTreeSet::new();
        let mut state = self.state.lock();
        for (name, times) in posted {
            if let Some(event) = state.events.get_mut(name) {
                event.count = event.count.wrapping_add(*times);
                due.extend(&event.waits);
            }
        }
        due.retain(|key| state.waits.get(key).is_some_and(|wait| state.is_due(wait)));
        let told: Vec<_> = due.into_iter().filter_map(|key| state.end(key)).collect();
        drop(state);
        for (tell, counts) in told {
            tell(counts);
        }
    }
}

impl State {
    /// Whether one of its events has been posted often enough.
    fn is_due(&self, wait: &Wait) -> bool {
        wait.events.iter().any(|wanted| {
            let count = self.events.get(&wanted.name).map_or(0, |event| event.count);
            // The difference counts, since counts begin anew behind the largest.
            count.wrapping_sub(wanted.count).cast_signed() >= 0
        })
    }

    /// Takes a wait away. Gives whom to tell and the counts as they are now.
    fn end(&mut self, key: WaitKey) -> Option<(Tell, Vec<EventCount>)> {
        let Wait { mut events, tell } = self.waits.remove(&key)?;
        if let Some(known) = self.listeners.get_mut(&key.listener) {
            known.waits -= 1;
            known.awaited -= events.len();
        }
        for EventCount { name, count } in &mut events {
            if let Some(event) = self.events.get_mut(name) {
                event.waits.remove(&key);
                *count = event.count.wrapping_add(1);
            }
        }
        Some((tell, events))
    }
}

/// Somebody who waits for events. What it waits for ends with it.
pub struct Listener {
    events: Arc<Events>,
    number: u64,
}

impl Listener {
    /// Waits for any of these events to have been posted as often as it says: `tell` is called then, which may be at once.
    ///
    /// # Errors
    /// `isc_too_many_handles` with too many waits, or too many names in them or in all that there have been.
    pub fn wait(&self, id: i32, events: Vec<EventCount>, tell: Tell) -> Result<()> {
        let mut guard = self.events.state.lock();
        let state = &mut *guard;
        let Some(known) = state.listeners.get_mut(&self.number) else { return Ok(()) };
        let new = events.iter().filter(|event| !known.names.contains(&event.name)).count();
        if known.waits >= WAITS_MAX
            || known.awaited + events.len() > NAMES_MAX
            || known.names.len() + new > NAMES_MAX
        {
            return Err(Error::new(isc::TOO_MANY_HANDLES));
        }
        state.latest_wait += 1;
        let key = WaitKey { listener: self.number, id, number: state.latest_wait };
        known.waits += 1;
        known.awaited += events.len();
        for EventCount { name, .. } in &events {
            let event = state.events.entry(Arc::clone(name)).or_default();
            event.waits.insert(key);
            event.listeners += usize::from(known.names.insert(Arc::clone(name)));
        }
        let wait = Wait { events, tell };
        let is_due = state.is_due(&wait);
        state.waits.insert(key, wait);
        let told = if is_due { state.end(key) } else { None };
        drop(guard);
        if let Some((tell, counts)) = told {
            tell(counts);
        }
        Ok(())
    }

    /// Waits no longer by this number, if it does; by the first of several waits with it.
    pub fn cancel(&self, id: i32) {
        let mut state = self.events.state.lock();
        let (first, last) = (
            WaitKey { listener: self.number, id, number: 0 },
            WaitKey { listener: self.number, id, number: u64::MAX },
        );
        let key = state.waits.range(first..=last).next().map(|(key, _)| *key);
        key.and_then(|key| state.end(key));
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = self.events.state.lock();
        let first = WaitKey { listener: self.number, id: i32::MIN, number: 0 };
        let last = WaitKey { listener: self.number, id: i32::MAX, number: u64::MAX };
        let keys: Vec<WaitKey> = state.waits.range(first..=last).map(|(key, _)| *key).collect();
        for key in keys {
            state.end(key);
        }
        for name in state.listeners.remove(&self.number).unwrap_or_default().names {
            let is_unheard = state.events.get_mut(&name).is_some_and(|event| {
                event.listeners -= 1;
                event.listeners == 0
            });
            if is_unheard {
                state.events.remove(&name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    fn wait(listener: &Listener, id: i32, events: &[(&str, u32)]) -> Receiver<Vec<(String, u32)>> {
        let (tell, told) = channel();
        let events = events.iter().map(|(name, count)| EventCount { name: Arc::from(*name), count: *count });
        let tell = move |counts: Vec<EventCount>| {
            let _ =
                tell.send(counts.into_iter().map(|event| (event.name.to_string(), event.count)).collect());
        };
        listener.wait(id, events.collect(), Box::new(tell)).unwrap();
        told
    }

    fn post(events: &Events, posted: &[(&str, u32)]) {
        events.post(&posted.iter().map(|(name, times)| (Arc::from(*name), *times)).collect::<Vec<_>>());
    }

    fn told(receiver: &Receiver<Vec<(String, u32)>>) -> Option<Vec<(String, u32)>> {
        receiver.try_recv().ok()
    }

    fn counts(expected: &[(&str, u32)]) -> Option<Vec<(String, u32)>> {
        Some(expected.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect())
    }

    #[test]
    fn a_first_wait_learns_where_the_counts_stand_and_the_next_waits_for_posts() {
        let events = Arc::new(Events::default());
        post(&events, &[("A", 5)]);
        let listener = events.listen();
        assert_eq!(told(&wait(&listener, 1, &[("A", 0), ("B", 0)])), counts(&[("A", 1), ("B", 1)]));
        let next = wait(&listener, 1, &[("A", 1), ("B", 1)]);
        assert_eq!(told(&next), None);
        post(&events, &[("C", 1)]);
        assert_eq!(told(&next), None);
        post(&events, &[("B", 3)]);
        assert_eq!(told(&next), counts(&[("A", 1), ("B", 4)]));
        post(&events, &[("A", 2)]);
        assert_eq!(told(&next), None, "told once");
        assert_eq!(told(&wait(&listener, 1, &[("A", 1), ("B", 4)])), counts(&[("A", 3), ("B", 4)]));
    }

    #[test]
    fn a_cancelled_wait_and_that_of_a_listener_who_has_gone_are_not_told() {
        let events = Arc::new(Events::default());
        let (one, other) = (events.listen(), events.listen());
        let waits = [wait(&one, 1, &[("A", 1)]), wait(&one, 2, &[("A", 1)]), wait(&other, 1, &[("A", 1)])];
        one.cancel(1);
        one.cancel(1);
        drop(other);
        post(&events, &[("A", 1)]);
        assert_eq!(waits.map(|wait| told(&wait)), [None, counts(&[("A", 2)]), None]);
    }

    #[test]
    fn nothing_is_left_when_nobody_listens() {
        let events = Arc::new(Events::default());
        let (one, other) = (events.listen(), events.listen());
        let _waits = [wait(&one, 1, &[("A", 1), ("A", 7)]), wait(&other, -5, &[("A", 1), ("B", 9)])];
        post(&events, &[("A", 1)]);
        drop(one);
        assert_eq!(events.state.lock().events.len(), 2);
        drop(other);
        let state = events.state.lock();
        assert!(state.events.is_empty() && state.waits.is_empty() && state.listeners.is_empty());
    }

    #[test]
    fn counts_go_on_behind_the_largest() {
        let events = Arc::new(Events::default());
        let listener = events.listen();
        let first = wait(&listener, 1, &[("A", 1)]);
        post(&events, &[("A", u32::MAX)]);
        assert_eq!(told(&first), None, "so many posts pass for none");
        post(&events, &[("A", 3)]);
        assert_eq!(told(&first), counts(&[("A", 3)]));
    }

    #[test]
    fn a_listener_has_limits() {
        let events = Arc::new(Events::default());
        let listener = events.listen();
        for id in 0..i32::try_from(WAITS_MAX).unwrap() {
            wait(&listener, id, &[("A", 1)]);
        }
        let more = || vec![EventCount { name: Arc::from("A"), count: 1 }];
        let refused = listener.wait(-1, more(), Box::new(|_| ())).unwrap_err();
        assert_eq!(refused.gds_code(), isc::TOO_MANY_HANDLES);
        listener.cancel(0);
        listener.wait(-1, more(), Box::new(|_| ())).unwrap();
        let names = (0..=NAMES_MAX).map(|number| EventCount { name: number.to_string().into(), count: 1 });
        assert!(events.listen().wait(1, names.collect(), Box::new(|_| ())).is_err());
    }
}
