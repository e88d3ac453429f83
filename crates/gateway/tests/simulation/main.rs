//! Programs through edge and origin, on a clock of their own: how many trips each thing costs, and whether the answers are those that the
//! server gives without edge and origin.

mod attaching;
mod costs;
mod deferred;
mod equality;
mod optimistic;
mod server;
mod trips;
mod world;
