//! Imports the second.

use crate::{apart::Apart, second::{self as two, Second}};

pub struct First(Second, Apart);

pub fn other() {}
