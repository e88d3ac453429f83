//! The contents of a disk. Clones share what they have in common, so that thousands can be kept.

use std::sync::Arc;

/// Bytes that are shared as one.
const PAGE_BYTES: usize = 4_096;

/// The contents of a disk: as many bytes as it is long, zero where nothing was written.
#[derive(Debug, Clone, Default)]
pub struct Image {
    size: usize,
    /// `None`: zeros.
    pages: Vec<Option<Arc<[u8; PAGE_BYTES]>>>,
}

impl Image {
    /// An image of these bytes.
    pub fn of(bytes: &[u8]) -> Image {
        let mut image = Image::default();
        image.write(0, bytes);
        image
    }

    /// Its length in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Cuts it off, or adds zeros.
    pub fn resize(&mut self, size: usize) {
        self.pages.resize(size.div_ceil(PAGE_BYTES), None);
        let within = size % PAGE_BYTES;
        if size < self.size
            && within > 0
            && let Some(Some(last)) = self.pages.last_mut()
        {
            Arc::make_mut(last)[within..].fill(0);
        }
        self.size = size;
    }

    /// Fills `out` with what stands at `offset`; whether there is so much.
    pub fn read(&self, offset: usize, out: &mut [u8]) -> bool {
        if offset + out.len() > self.size {
            return false;
        }
        for (page, within, place, count) in parts(offset, out.len()) {
            let out = &mut out[place..place + count];
            match &self.pages[page] {
                Some(bytes) => out.copy_from_slice(&bytes[within..within + count]),
                None => out.fill(0),
            }
        }
        true
    }

    /// Puts bytes at `offset`; it grows if they go beyond its end.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        if offset + bytes.len() > self.size {
            self.resize(offset + bytes.len());
        }
        for (page, within, place, count) in parts(offset, bytes.len()) {
            let page = self.pages[page].get_or_insert_with(|| Arc::new([0; PAGE_BYTES]));
            Arc::make_mut(page)[within..within + count].copy_from_slice(&bytes[place..place + count]);
        }
    }

    /// All its bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = vec![0; self.size];
        self.read(0, &mut out);
        out
    }
}

/// Cuts a span at pages: page, place in the page, place in the span, length.
fn parts(offset: usize, length: usize) -> impl Iterator<Item = (usize, usize, usize, usize)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done;
        let count = (length - done).min(PAGE_BYTES - at % PAGE_BYTES);
        let part = (at / PAGE_BYTES, at % PAGE_BYTES, done, count);
        done += count;
        (count > 0).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn an_image_is_an_array_of_bytes() {
        let mut random = Random::new(3);
        let (mut image, mut model) = (Image::default(), Vec::new());
        for round in 0..500 {
            let (offset, count) = (random.below(20_000) as usize, random.below(9_000) as usize);
            if random.once_in(5) {
                image.resize(offset);
                model.resize(offset, 0);
            } else {
                let before = image.clone();
                let bytes = vec![round as u8; count];
                image.write(offset, &bytes);
                assert_eq!(before.to_vec(), model);
                model.resize(model.len().max(offset + count), 0);
                model[offset..offset + count].copy_from_slice(&bytes);
            }
            assert_eq!(image.to_vec(), model);
        }
        assert!(!image.read(model.len(), &mut [0]));
    }
}
