//! What the store must know of a relation.
