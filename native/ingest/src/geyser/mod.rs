//! The Yellowstone reader: one gRPC subscription at CONFIRMED, buffered by slot, applied block by
//! block.
//!
//! The stream is read on a small runtime of its own; blocks go through a queue that is bounded in
//! bytes to a thread that writes them, so that a slow commit never holds up the socket. A block is
//! applied only where it continues the tip's chain; everything else reconnects with `from_slot`,
//! and what that cannot mend is reported as [`Event::Unhealthy`] with its reason, while the store
//! goes on answering with its true tip.

mod applier;
mod block_assembler;
mod config;
mod event;
mod failure;
mod group;
mod health;
mod pending_slot;
mod reader;
mod request;
mod session;
mod subscription_plan;
mod translate;

pub use applier::BlockSink;
pub use block_assembler::{
    BlockAssembler, BlockMeta, BufferLimits, Fault, Ready, SlotState, Update,
};
pub use config::{AccountsFilter, GeyserConfig, Transactions};
pub use event::{Cause, Event, FlatEvent, Gap, GapKind};
pub use reader::{FeedReader, start};
pub use subscription_plan::SubscriptionPlan;
pub use translate::{Message, Taken, translate};
