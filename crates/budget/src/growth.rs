//! Vectors and maps that grow by amounts that are known beforehand, so that they can be charged before they grow.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

use farbird_types::Result;

use super::Reservation;

/// Room for at least so many elements is made at a time.
const ROOM_MIN: usize = 16;

/// By how many elements a vector's capacity grows if it takes so many more: none while it has room, else by half of it
/// at least.
#[inline]
pub fn room<T>(vector: &Vec<T>, more: usize) -> usize {
    let missing = (vector.len() + more).saturating_sub(vector.capacity());
    if missing == 0 { 0 } else { missing.max(vector.capacity() / 2).max(ROOM_MIN) }
}

/// Appends so many elements, growing by exactly as much as [`room`] says for them.
#[inline]
pub fn extend_within<T>(vector: &mut Vec<T>, more: usize, elements: impl IntoIterator<Item = T>) {
    let added = room(vector, more);
    if added > 0 {
        vector.reserve_exact(vector.capacity() - vector.len() + added);
    }
    vector.extend(elements);
}

/// Makes room for one more entry of a map, and charges it. What keys and values have on the heap is their owner's affair.
///
/// # Errors
/// `virmemexh` past the statement's budget; the map is as it was then.
#[inline]
pub fn reserve_entry<K: Eq + Hash, V, S: BuildHasher>(
    map: &mut HashMap<K, V, S>,
    memory: &mut Reservation,
) -> Result<()> {
    if map.len() < map.capacity() {
        return Ok(());
    }
    let before = table_bytes::<(K, V)>(map.capacity());
    // Both tables are there while the entries move.
    memory.grow(table_bytes::<(K, V)>(map.capacity().max(1) * 2))?;
    map.reserve(1);
    memory.shrink(before);
    Ok(())
}

/// What a hash table takes that has room for so many entries: the library's own has a power of two of places, of which
/// seven eighths are used, and a byte for each.
fn table_bytes<T>(capacity: usize) -> usize {
    match capacity {
        0 => 0,
        _ => (capacity * 8 / 7 + 1).next_power_of_two() * (size_of::<T>() + 1),
    }
}
