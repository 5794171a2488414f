//! How a store gets its contents: the Yellowstone feed, snapshots, answers of an RPC, and the spool
//! of blocks that arrive during a load.

#![deny(clippy::all)]

pub mod archive;
pub mod geyser;
mod json_rows;
pub mod load;
pub mod progress;
pub mod rpc_rows;
pub mod spool;
