//! Writes one account as JSON. This is not done in JavaScript because lamports and rentEpoch are
//! u64, which a double cannot hold exactly.

mod amount;
mod mint;
mod parsed;
mod source;
mod text;
mod view;
mod writer;

pub use amount::push_amount;
pub use mint::{MintData, Mints};
pub use source::Accounts;
pub(crate) use text::push_f64;
pub use text::{push_bool, push_str, push_u64};
pub use view::{DataSlice, Encoding, View};
pub use writer::AccountWriter;

#[cfg(test)]
mod tests;
