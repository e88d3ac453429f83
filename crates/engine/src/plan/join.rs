//! join
