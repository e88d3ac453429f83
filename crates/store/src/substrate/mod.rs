//! The substrate: an ordered key-value store with read snapshots and atomic write batches.
