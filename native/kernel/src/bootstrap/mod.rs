//! How a store comes to be without the whole history of the chain: from what others have written
//! down, and from the feed that is kept meanwhile.

pub mod archive;
mod json_rows;
pub mod load;
pub mod packed;
pub mod progress;
pub mod rpc_rows;
pub mod spool;
