//! Fills a store from the Yellowstone feed, snapshots and RPC answers, and spools the blocks that
//! arrive during a load.

#![deny(clippy::all)]
#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables of cases"))]

pub mod archive;
pub mod geyser;
mod json_rows;
pub mod load;
pub mod progress;
pub mod rpc_rows;
pub mod spool;
