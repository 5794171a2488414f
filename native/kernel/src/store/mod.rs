//! The accounts store: one LMDB environment, one writer process, any number of readers.

mod record;

pub use record::{AccountRef, AccountUpdate, Block, SignatureStatus, Tip};
