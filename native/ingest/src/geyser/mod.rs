//! The Yellowstone reader: one gRPC subscription at CONFIRMED, buffered by slot and bank and
//! applied block by block.
//!
//! A separate runtime reads the stream. A queue limited in bytes passes blocks to a writer thread,
//! so a slow commit does not block the socket. A block is applied only if it continues the tip's
//! chain. On any other block the reader reconnects with `from_slot`. If that does not help, it
//! reports [`Event::Unhealthy`] with the reason, and the store continues to serve its current tip.

mod accounts_filter;
mod applier;
mod block_assembler;
mod client;
mod config;
mod event;
mod failure;
mod footers;
mod group;
mod health;
mod pass_through;
mod pending_bank;
mod reader;
mod request;
mod server_version;
mod session;
mod slot_banks;
mod subscription_plan;
mod translate;
mod update;

pub use accounts_filter::AccountsFilter;
pub use applier::BlockSink;
pub use block_assembler::{BlockAssembler, BufferLimits};
pub use client::Subscription;
pub use config::{GeyserConfig, Transactions};
pub use event::{Cause, Event, FlatEvent, Gap, GapKind};
pub use pass_through::{Kinds, Refused, classify, open_stream, processed_request};
pub use reader::{FeedReader, start};
pub use request::ping_request;
pub use subscription_plan::SubscriptionPlan;
pub use translate::{Message, Taken, translate};
pub use update::{BlockMeta, Content, Fault, Ready, SlotState, Update};
