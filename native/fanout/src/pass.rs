//! Options and results of passes.

pub use super::frames::{IS_LAST, IS_REPLAYED};

/// Bounds of a fan-out.
#[derive(Debug, Clone, Copy)]
pub struct FanoutOptions {
    pub subscriptions_max: usize,
    /// A pass ends after this many bytes of frames. One frame may be larger.
    pub chunk_bytes_max: usize,
}

/// The result of a pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pass {
    /// The newest slot whose frames have all been written.
    pub slot: Option<u64>,
    /// The store removed slots before they were read, or they are damaged. The next pass continues
    /// at the tip.
    pub is_lost: bool,
    /// The last slot found whose changes are damaged in the store.
    pub damaged_slot: Option<u64>,
    /// More frames are pending.
    pub has_more: bool,
    /// Whole frames, concatenated.
    pub frames: Vec<u8>,
    /// For each frame: subscription, length, flags.
    pub index: Vec<u32>,
}

/// Counters of a fan-out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FanoutStats {
    pub subscriptions: usize,
    /// Changes read.
    pub changes: u64,
    /// Look-ups and comparisons for these changes.
    pub comparisons: u64,
    pub frames: u64,
    pub bytes: u64,
}
