//! Every bound of the reader, each with its unit and its reason.

use std::fmt;

use super::subscription_plan::SubscriptionPlan;
use primitives::Pubkey;
use sys::error::{Error, Result};

/// The accounts that the store wants. How they are asked for is the [`SubscriptionPlan`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccountsFilter {
    All,
    /// What a scoped store holds.
    Listed {
        /// Every account of these programs.
        programs: Vec<Pubkey>,
        /// Both token programs' accounts of these mints, and the mints.
        mints: Vec<Pubkey>,
        pubkeys: Vec<Pubkey>,
    },
}

impl AccountsFilter {
    /// A listed filter from base58 texts. Fails with the text that is no address.
    pub fn from_base58(
        programs: &[String],
        mints: &[String],
        pubkeys: &[String],
    ) -> Result<AccountsFilter> {
        Ok(AccountsFilter::Listed {
            programs: decode_all(programs)?,
            mints: decode_all(mints)?,
            pubkeys: decode_all(pubkeys)?,
        })
    }
}

fn decode_all(texts: &[String]) -> Result<Vec<Pubkey>> {
    texts
        .iter()
        .map(|text| {
            let mut key = [0; 32];
            match five8::decode_32(text, &mut key) {
                Ok(()) => Ok(key),
                Err(_) => Err(Error::PubkeyDecode(text.clone())),
            }
        })
        .collect()
}

/// What the feed is asked for about transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transactions {
    None,
    /// The outcome of each that is no vote: signature subscriptions need it.
    Status,
    /// The same, with keys and logs: log subscriptions need them.
    Logs,
    LogsAndVotes,
}

impl Transactions {
    /// The choice that an operator names so.
    pub fn of_name(name: &str) -> Option<Transactions> {
        match name {
            "none" => Some(Transactions::None),
            "status" => Some(Transactions::Status),
            "logs" => Some(Transactions::Logs),
            "logsAndVotes" => Some(Transactions::LogsAndVotes),
            _ => None,
        }
    }
}

/// How to reach a feed, what to ask of it, and how much of it to hold. `Default` has no endpoint.
#[derive(Clone)]
pub struct GeyserConfig {
    /// `http://host:port` or `https://host:port`.
    pub endpoint: String,
    /// Sent as metadata `x-token`. Never shown: `Debug`, events and errors are free of it.
    pub x_token: Option<String>,
    /// PEM of a private certificate authority, in place of the system's.
    pub ca_certificate_pem: Option<String>,
    pub accounts: AccountsFilter,
    /// How those accounts are asked for.
    pub plan: SubscriptionPlan,
    /// Where an empty store begins; `None` is the live head. The first whole block becomes its
    /// base.
    pub start_slot: Option<u64>,
    pub transactions: Transactions,
    /// Tell the server that zstd is welcome. Account data shrinks to a quarter; a server may ignore
    /// it.
    pub accept_zstd: bool,

    /// Time for TCP, TLS and HTTP/2 to come up. A far provider needs under 1 s; more is an outage.
    pub connect_timeout_ms: u64,
    /// No message of any kind for this long: reconnect. Servers ping each 10 s, so six were lost.
    pub silence_ms: u64,
    /// Messages, but no block for this long: reconnect, and unhealthy. 150 slots at 400 ms, after
    /// which no blockhash that we hand out is still valid.
    pub block_silence_ms: u64,
    /// HTTP/2 keep-alive. Shorter than the idle limit of common load balancers.
    pub keepalive_interval_ms: u64,
    /// A peer that leaves a keep-alive unanswered this long is gone.
    pub keepalive_timeout_ms: u64,

    /// First pause after a failure: above a server's restart of its listener, below two slots.
    pub backoff_initial_ms: u64,
    /// Each further failure without a block between multiplies the pause.
    pub backoff_factor: u32,
    /// Longest pause of an ordinary failure: one request in ten seconds harms no server.
    pub backoff_max_ms: u64,
    /// Pause after a failure that waiting alone does not mend (gap, refusal). A new try costs a
    /// replay.
    pub backoff_long_ms: u64,
    /// Failures in a row, without a block between, that make the feed unhealthy. Five are about 8
    /// s.
    pub failures_max: u32,
    /// Replays that may try to close one gap before it makes the feed unhealthy.
    pub gap_attempts_max: u32,
    /// Whole blocks that wait for an earlier one before that is called a gap: 1.6 s of blocks.
    /// Servers send parents first, but older ones fill in a missed status late.
    pub reorder_blocks_max: usize,

    /// Bytes of all slots that are not whole yet. A mainnet block is tens of MB. Over it:
    /// reconnect.
    pub buffer_bytes_max: usize,
    /// Bytes of whole blocks that wait for the writer. Over it: reconnect once they are written.
    pub queue_bytes_max: usize,
    /// Waiting blocks that one commit takes when the writer is behind. More of them are cheaper
    /// together, but readers see none before all: so many take a second or two.
    pub group_blocks_max: usize,
    /// Bytes of the same; a larger block is committed alone. `accounts` and `feed` both hold them,
    /// and over 512 MiB of changed pages LMDB would begin to write pages out before the commit.
    pub group_bytes_max: usize,
    /// Largest single message. An account is up to 10 MiB and tonic's own limit is 4 MiB.
    pub decode_bytes_max: usize,
    /// HTTP/2 window of the stream: what may be under way, so 16 MiB lets 50 MB/s cross 300 ms.
    pub window_bytes: u32,
    /// Time for `stop` to finish the commit under way.
    pub stop_timeout_ms: u64,
    /// Threads of the reader's runtime: one for the socket's frames, one that decodes.
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
            connect_timeout_ms: 10_000,
            silence_ms: 60_000,
            block_silence_ms: 60_000,
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
            queue_bytes_max: 512 << 20,
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
    /// Refuses values that could not work, each by name.
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
                self.queue_bytes_max < 11 << 20,
                "queueBytesMax must hold an account of 10 MiB",
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
            (self.silence_ms == 0, "silenceMs must be above 0"),
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

    /// Scheme, host and port. Some providers put a secret into the path or before an `@`.
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
    fn a_wrong_address_is_named() {
        let wrong = AccountsFilter::from_base58(&["0OIl".into()], &[], &[]);
        assert!(matches!(wrong, Err(Error::PubkeyDecode(text)) if text == "0OIl"));
    }
}
