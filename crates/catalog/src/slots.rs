//! What upper floors keep beside a value of this one, without it knowing what that is.

use std::any::Any;
use std::fmt;
use std::sync::OnceLock;

/// One value of each type that somebody asks for, made by its `Default` when it is first asked for. A copy starts empty:
/// what was kept belonged to the value that was copied.
#[derive(Default)]
pub struct Slots(OnceLock<(Box<dyn Any + Send + Sync>, Box<Slots>)>);

impl Slots {
    /// The value of this type.
    pub fn get<T: Any + Default + Send + Sync>(&self) -> &T {
        let mut slots = self;
        loop {
            let (value, next) = slots.0.get_or_init(|| (Box::new(T::default()), Box::default()));
            match value.downcast_ref() {
                Some(value) => return value,
                None => slots = next,
            }
        }
    }
}

impl Clone for Slots {
    fn clone(&self) -> Self {
        Slots::default()
    }
}

impl fmt::Debug for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;

    #[test]
    fn each_type_has_a_value_of_its_own_and_copies_have_none() {
        let slots = Slots::default();
        slots.get::<AtomicU8>().store(7, Ordering::Relaxed);
        assert_eq!(*slots.get::<String>(), "");
        assert_eq!(slots.get::<AtomicU8>().load(Ordering::Relaxed), 7);
        assert_eq!(slots.clone().get::<AtomicU8>().load(Ordering::Relaxed), 0);
    }
}
