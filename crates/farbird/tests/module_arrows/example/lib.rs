//! What the test of module_arrows reads; nothing builds it.

mod apart;
mod face;
mod second;
mod third;
