//! RC4, which clients of Firebird 3 know and nothing else. Broken as a cipher; kept because they ask for it.

/// The state of RC4.
pub(super) struct Arc4 {
    permutation: [u8; 256],
    i: u8,
    j: u8,
}

impl Arc4 {
    /// Sets up the permutation. The key is not empty.
    pub(super) fn new(key: &[u8]) -> Arc4 {
        let mut permutation = std::array::from_fn(|index| index as u8);
        let mut j = 0_u8;
        for (i, key_byte) in (0..=255_u8).zip(key.iter().cycle()) {
            j = j.wrapping_add(permutation[usize::from(i)]).wrapping_add(*key_byte);
            permutation.swap(usize::from(i), usize::from(j));
        }
        Arc4 { permutation, i: 0, j: 0 }
    }

    /// Adds the key stream.
    pub(super) fn apply(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            self.i = self.i.wrapping_add(1);
            self.j = self.j.wrapping_add(self.permutation[usize::from(self.i)]);
            self.permutation.swap(usize::from(self.i), usize::from(self.j));
            let sum =
                self.permutation[usize::from(self.i)].wrapping_add(self.permutation[usize::from(self.j)]);
            *byte ^= self.permutation[usize::from(sum)];
        }
    }
}
