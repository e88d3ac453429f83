//! A program, an edge, an origin and a server in one conversation, each of whom may be hostile: what goes first, what is said and what
//! is answered are the input's. A lawful program gets all its answers. What is played is
//! crates/farlink/tests/conversations/player.rs, which the tests beside it run too.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/farlink/tests/conversations/player.rs"]
mod player;

fuzz_target!(|data: &[u8]| player::play(data));
