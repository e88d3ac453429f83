//! The proof of the farlink: both machines and both ends of a link between programs and a Farbird server that tells of commits, on a
//! clock of its own. `simulation` counts trips; here it is asked whether answers are right, whatever the way between is like.

mod cuts;
mod equality;
mod interleavings;
mod network;
mod player;
mod random;
mod server;
mod world;
