//! The file that the validator is given as `--geyser-plugin-config`.

use std::net::SocketAddr;

use serde::Deserialize;

/// `libpath` is read by the validator.
#[derive(Debug, Clone, Deserialize)]
pub struct Config {
    /// Where the server listens.
    pub address: SocketAddr,
    /// Required in the header `x-token`.
    pub x_token: Option<String>,
    /// Blocks kept for `from_slot`.
    #[serde(default = "replay_stored_slots")]
    pub replay_stored_slots: usize,
    /// Whether accounts of the snapshot or genesis are sent, marked as such. Yellowstone's servers
    /// no longer do.
    #[serde(default)]
    pub startup_accounts: bool,
}

fn replay_stored_slots() -> usize {
    1_024
}
