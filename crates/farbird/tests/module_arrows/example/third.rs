//! Imports the first through the face.

use crate::face::renamed;

pub fn letter() -> char {
    renamed();
    'a'
}
