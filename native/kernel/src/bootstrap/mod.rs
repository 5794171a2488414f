//! How a store comes to be without the whole history of the chain: from what others have written down.

pub mod archive;
pub mod progress;
