//! What transactions offer for a place in a block, from the fees that the store keeps of recent
//! blocks: getRecentPrioritizationFees, getPriorityFeeEstimate, getTipPercentiles.

mod estimate;
mod recent;
mod tips;
mod window;

pub use estimate::{Estimate, Level, priority_fee_estimate, writable_of_table};
pub use recent::recent_prioritization_fees;
pub use tips::{TipGroup, tip_percentiles};
pub use window::{FeeWindow, Span};
