//! What a pass is asked for, and what it makes.

pub use super::frames::IS_LAST;

/// Bounds of a fan-out.
#[derive(Debug, Clone, Copy)]
pub struct FanoutOptions {
    pub subscriptions_max: usize,
    /// Bytes of frames after which a pass ends; one frame may be larger.
    pub chunk_bytes_max: usize,
}

/// What a pass made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pass {
    /// The newest slot whose frames have all been given.
    pub slot: Option<u64>,
    /// Slots were missed that the store no longer holds. What comes next begins at the tip.
    pub is_lost: bool,
    /// More is waiting.
    pub has_more: bool,
    /// Whole frames, one after the other.
    pub frames: Vec<u8>,
    /// For each: subscription, length, flags.
    pub index: Vec<u32>,
}

/// A fan-out in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FanoutStats {
    pub subscriptions: usize,
    /// Changes of slots looked at.
    pub changes: u64,
    /// Look-ups and comparisons that these took.
    pub comparisons: u64,
    pub frames: u64,
    pub bytes: u64,
}
