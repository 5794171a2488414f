//! The reader's limits, with units and reasons.

use std::fmt;

use super::accounts_filter::AccountsFilter;
use super::subscription_plan::SubscriptionPlan;
use sys::error::{Error, Result};

/// Transaction data to request from the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transactions {
    None,
    /// The result of each non-vote transaction. Signature subscriptions need it.
    Status,
    /// Results with keys and logs. Log subscriptions need them.
    Logs,
    LogsAndVotes,
    /// Whole transactions. Transaction subscriptions need them.
    Full,
    FullAndVotes,
    /// The same, and the entries of each block.
    FullAndEntries,
}

impl Transactions {
    /// Parses the configuration value.
    pub fn of_name(name: &str) -> Option<Transactions> {
        match name {
            "none" => Some(Transactions::None),
            "status" => Some(Transactions::Status),
            "logs" => Some(Transactions::Logs),
            "logsAndVotes" => Some(Transactions::LogsAndVotes),
            "full" => Some(Transactions::Full),
            "fullAndVotes" => Some(Transactions::FullAndVotes),
            "fullAndEntries" => Some(Transactions::FullAndEntries),
            _ => None,
        }
    }

    pub fn has_votes(self) -> bool {
        matches!(
            self,
            Transactions::LogsAndVotes | Transactions::FullAndVotes | Transactions::FullAndEntries
        )
    }

    pub fn is_full(self) -> bool {
        matches!(
            self,
            Transactions::Full | Transactions::FullAndVotes | Transactions::FullAndEntries
        )
    }
}

/// Connection, subscription and buffer settings of a feed. `Default` has no endpoint.
#[derive(Clone)]
pub struct GeyserConfig {
    /// `http://host:port` or `https://host:port`.
    pub endpoint: String,
    /// Sent as metadata `x-token`. Never included in `Debug` output, events or errors.
    pub x_token: Option<String>,
    /// PEM of a private certificate authority. Replaces the system's certificates.
    pub ca_certificate_pem: Option<String>,
    pub accounts: AccountsFilter,
    /// How these accounts are requested.
    pub plan: SubscriptionPlan,
    /// Start slot of an empty store. `None` means the live head. The first complete block becomes
    /// the store's base.
    pub start_slot: Option<u64>,
    pub transactions: Transactions,
    /// Accept zstd compression. Account data shrinks to a quarter. A server may ignore this.
    pub accept_zstd: bool,

    /// Timeout for TCP, TLS and HTTP/2 setup. A distant provider needs under 1 s. Two attempts take
    /// as long as `block_silence_ms`.
    pub connect_timeout_ms: u64,
    /// Reconnect and report unhealthy after this time without a block, so that another server is
    /// asked. The default is a third of the life of a blockhash at 200 ms a slot, which leaves time
    /// to do so twice before the last blockhash of the index ends.
    pub block_silence_ms: u64,
    /// HTTP/2 keep-alive interval. Shorter than the idle timeout of common load balancers.
    pub keepalive_interval_ms: u64,
    /// Close the connection when a keep-alive is unanswered for this time.
    pub keepalive_timeout_ms: u64,

    /// First pause after a failure: longer than a server needs to restart its listener.
    pub backoff_initial_ms: u64,
    /// Factor by which each further failure without a block multiplies the pause.
    pub backoff_factor: u32,
    /// Maximum pause after a temporary failure. One request per ten seconds does not overload a
    /// server.
    pub backoff_max_ms: u64,
    /// Pause after a failure that a retry rarely resolves (gap, refusal). Each retry costs a
    /// replay.
    pub backoff_long_ms: u64,
    /// Consecutive failures without a block that make the feed unhealthy. Five take about 8 s.
    pub failures_max: u32,
    /// Replays allowed for one gap before the feed becomes unhealthy.
    pub gap_attempts_max: u32,
    /// Complete blocks that may wait for a missing parent before a gap is reported. It is a count,
    /// because servers send parents first; old versions send an omitted status some blocks late.
    pub reorder_blocks_max: usize,

    /// Maximum bytes of all incomplete slots, and of complete blocks queued for the writer. A
    /// mainnet block is tens of MB. Reconnect when either is exceeded, after the queue is written.
    pub buffer_bytes_max: usize,
    /// Maximum blocks per commit when the writer has a backlog. Larger groups cost less per block,
    /// but readers see no block before the commit ends. 64 blocks take one to two seconds.
    pub group_blocks_max: usize,
    /// Maximum bytes per commit. A larger block is committed alone. Both `accounts` and `feed`
    /// store these bytes, and over 512 MiB of changed pages LMDB would write pages before the
    /// commit.
    pub group_bytes_max: usize,
    /// Maximum message size. An account is up to 10 MiB and tonic's default limit is 4 MiB.
    pub decode_bytes_max: usize,
    /// HTTP/2 window of the stream, in bytes. 16 MiB allows 50 MB/s at a round trip of 300 ms.
    pub window_bytes: u32,
    /// Time for `stop` to finish the current commit.
    pub stop_timeout_ms: u64,
    /// Threads of the reader's runtime: one for the socket, one for decoding.
    pub threads: usize,
}

impl Default for GeyserConfig {
    fn default() -> Self {
        GeyserConfig {
            endpoint: String::new(),
            x_token: None,
            ca_certificate_pem: None,
            accounts: AccountsFilter::All,
            plan: SubscriptionPlan::Auto,
            start_slot: None,
            transactions: Transactions::None,
            accept_zstd: true,
            connect_timeout_ms: 5_000,
            block_silence_ms: 10_000,
            keepalive_interval_ms: 15_000,
            keepalive_timeout_ms: 10_000,
            backoff_initial_ms: 500,
            backoff_factor: 2,
            backoff_max_ms: 10_000,
            backoff_long_ms: 30_000,
            failures_max: 5,
            gap_attempts_max: 3,
            reorder_blocks_max: 4,
            buffer_bytes_max: 512 << 20,
            group_blocks_max: 64,
            group_bytes_max: 128 << 20,
            decode_bytes_max: 64 << 20,
            window_bytes: 16 << 20,
            stop_timeout_ms: 10_000,
            threads: 2,
        }
    }
}

impl GeyserConfig {
    /// Rejects invalid values and names the setting.
    pub fn check(&self) -> Result<()> {
        let faults = [
            (
                !self.endpoint.starts_with("http"),
                "endpoint must begin with http:// or https://",
            ),
            (
                self.decode_bytes_max < 11 << 20,
                "decodeBytesMax must hold an account of 10 MiB",
            ),
            (
                self.buffer_bytes_max < 11 << 20,
                "bufferBytesMax must hold an account of 10 MiB",
            ),
            (
                self.group_blocks_max == 0,
                "group_blocks_max must be above 0",
            ),
            (
                self.backoff_initial_ms == 0,
                "backoffInitialMs must be above 0",
            ),
            (self.backoff_factor == 0, "backoffFactor must be above 0"),
            (self.block_silence_ms == 0, "blockSilenceMs must be above 0"),
            (self.threads == 0, "threads must be above 0"),
        ];
        let text = match faults.iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, text)) => Some(*text),
            None => self.plan.fault(&self.accounts),
        };
        match text {
            Some(text) => Err(Error::Internal(format!("feed configuration: {text}"))),
            None => Ok(()),
        }
    }

    /// Scheme, host and port only. Some providers put a secret into the path or before an `@`.
    pub fn shown_endpoint(&self) -> String {
        let (scheme, rest) = self
            .endpoint
            .split_once("://")
            .unwrap_or(("", &self.endpoint));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
        let host = authority.rsplit('@').next().unwrap_or("");
        format!("{scheme}://{host}")
    }
}

impl fmt::Debug for GeyserConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GeyserConfig")
            .field("endpoint", &self.shown_endpoint())
            .field("x_token", &self.x_token.as_ref().map(|_| "[hidden]"))
            .field("accounts", &self.accounts)
            .field("plan", &self.plan)
            .field("start_slot", &self.start_slot)
            .field("transactions", &self.transactions)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let config = GeyserConfig {
            endpoint: "https://user:hunter2@feed.example:443/hunter2?key=hunter2".into(),
            x_token: Some("hunter2".into()),
            ..GeyserConfig::default()
        };
        let shown = format!("{config:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(config.shown_endpoint(), "https://feed.example:443");
    }

    #[test]
    fn the_defaults_need_only_an_endpoint() {
        let config = GeyserConfig {
            endpoint: "http://a:1".into(),
            ..GeyserConfig::default()
        };
        assert!(config.check().is_ok());
        assert!(GeyserConfig::default().check().is_err());
        let small = GeyserConfig {
            decode_bytes_max: 4 << 20,
            ..config
        };
        assert!(
            small
                .check()
                .is_err_and(|e| e.detail().contains("decodeBytesMax"))
        );
    }

    #[test]
    fn an_invalid_address_is_named_in_the_error() {
        let wrong = AccountsFilter::from_base58(&["0OIl".into()], &[], &[]);
        assert!(matches!(wrong, Err(Error::PubkeyDecode(text)) if text == "0OIl"));
    }
}
