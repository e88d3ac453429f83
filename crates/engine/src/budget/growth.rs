//! Vectors that grow by amounts that are known beforehand, so that they can be charged before they grow.

/// Room for at least so many elements is made at a time.
const ROOM_MIN: usize = 16;

/// By how many elements a vector's capacity grows if it takes so many more: none while it has room, else by half of it
/// at least.
pub(crate) fn room<T>(vector: &Vec<T>, more: usize) -> usize {
    let missing = (vector.len() + more).saturating_sub(vector.capacity());
    if missing == 0 { 0 } else { missing.max(vector.capacity() / 2).max(ROOM_MIN) }
}

/// Appends so many elements, growing by exactly as much as [`room`] says for them.
pub(crate) fn extend_within<T>(vector: &mut Vec<T>, more: usize, elements: impl IntoIterator<Item = T>) {
    let added = room(vector, more);
    if added > 0 {
        vector.reserve_exact(vector.capacity() - vector.len() + added);
    }
    vector.extend(elements);
}
