//! Events that the reader sends to its caller.

use std::fmt;

use super::server_version::ServerVersion;

/// Why a block does not continue the tip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GapKind {
    /// Blocks between the tip and this block did not arrive.
    Missing,
    /// Its parent has the tip's slot and another blockhash, or a slot before the tip.
    OtherParent,
    /// The feed has another block in a slot that was applied: another cluster, or a restarted
    /// chain.
    OtherTip,
}

/// A block that does not continue the tip's chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub tip_slot: u64,
    pub slot: u64,
    pub parent_slot: u64,
    pub kind: GapKind,
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Gap {
            tip_slot,
            slot,
            parent_slot,
            kind,
        } = self;
        write!(f, "gap after slot {tip_slot}: ")?;
        match kind {
            GapKind::Missing => {
                write!(
                    f,
                    "the feed gave slot {slot}, whose parent {parent_slot} never came"
                )
            }
            GapKind::OtherParent => write!(
                f,
                "the feed gave slot {slot}, which follows another block (slot {parent_slot})"
            ),
            GapKind::OtherTip => write!(f, "the feed has another block in slot {slot}"),
        }
    }
}

/// The type of fault that makes the tip stale. It determines the possible remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Connections fail or end repeatedly. Another source may be available.
    Unreachable,
    /// The server rejects the request. Another source may accept it.
    Refused,
    /// Messages arrive, but no blocks. Another source may send blocks.
    Stalled,
    /// Blocks are missing and this server cannot replay them. Another source or a bootstrap may
    /// help.
    Gap,
    /// The local store rejects blocks. Another source does not help.
    Store,
}

impl Cause {
    pub fn name(self) -> &'static str {
        match self {
            Cause::Unreachable => "unreachable",
            Cause::Refused => "refused",
            Cause::Stalled => "stalled",
            Cause::Gap => "gap",
            Cause::Store => "store",
        }
    }
}

/// An event of the reader. Texts never contain the x-token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The subscription is open. `None` means the live head.
    Connected {
        from_slot: Option<u64>,
        has_footers: bool,
    },
    /// The server has refused the subscription for this reason, and is asked without block footers.
    FootersRefused(String),
    /// The program of the server.
    Server(ServerVersion),
    /// A block is durable in the store.
    Committed {
        slot: u64,
        block_height: u64,
        accounts: u64,
        /// The block's share of the commit time. A writer with a backlog commits several blocks at
        /// once.
        apply_micros: u64,
        /// Time from the server's creation of the block's metadata to the commit, by the two
        /// clocks.
        feed_lag_ms: Option<u64>,
        /// Bytes buffered in incomplete slots and in the queue after this block.
        buffered_bytes: u64,
        /// Whether the server named the block's bank.
        is_by_bank: bool,
        /// Messages of abandoned banks that were dropped since the block before.
        dropped: u64,
    },
    /// The subscription ended. The reader retries.
    Disconnected { reason: String, retry_in_ms: u64 },
    /// A block did not continue the tip. The reader requests a replay to close the gap.
    Gap(Gap),
    /// The tip no longer follows the chain. Sent again only when the reason changes.
    Unhealthy { reason: String, cause: Cause },
    /// A block was committed after [`Event::Unhealthy`], or the first one after the start.
    Healthy,
}

/// [`Event`] as one flat record for a foreign function interface. Fields that a kind does not use
/// are 0 or empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlatEvent {
    /// `connected`, `footersRefused`, `server`, `serverLosesUpdates`, `committed`, `disconnected`,
    /// `gap`, `unhealthy` or `healthy`.
    pub kind: &'static str,
    /// The reason, or the description of a `gap`.
    pub text: String,
    /// `unhealthy` only: the name of its [`Cause`].
    pub cause: &'static str,
    /// `committed`: the block. `connected`: `from_slot`. `gap`: the block that did not continue the
    /// tip.
    pub slot: Option<u64>,
    /// `gap` only.
    pub tip_slot: u64,
    /// `gap` only.
    pub parent_slot: u64,
    pub block_height: u64,
    pub accounts: u64,
    pub apply_micros: u64,
    pub feed_lag_ms: Option<u64>,
    pub buffered_bytes: u64,
    /// `connected` only.
    pub has_footers: bool,
    /// `committed` only.
    pub is_by_bank: bool,
    /// `committed` only.
    pub dropped: u64,
    /// `disconnected` only.
    pub retry_in_ms: u64,
}

fn server_kind(version: &ServerVersion) -> &'static str {
    if version.loses_updates {
        "serverLosesUpdates"
    } else {
        "server"
    }
}

fn said(kind: &'static str, text: String) -> FlatEvent {
    FlatEvent {
        kind,
        text,
        ..FlatEvent::default()
    }
}

impl From<Event> for FlatEvent {
    fn from(event: Event) -> Self {
        let of = |kind| FlatEvent {
            kind,
            ..FlatEvent::default()
        };
        match event {
            Event::Connected {
                from_slot,
                has_footers,
            } => FlatEvent {
                slot: from_slot,
                has_footers,
                ..of("connected")
            },
            Event::FootersRefused(text) => said("footersRefused", text),
            Event::Committed {
                slot,
                block_height,
                accounts,
                apply_micros,
                feed_lag_ms,
                buffered_bytes,
                is_by_bank,
                dropped,
            } => FlatEvent {
                slot: Some(slot),
                block_height,
                accounts,
                apply_micros,
                feed_lag_ms,
                buffered_bytes,
                is_by_bank,
                dropped,
                ..of("committed")
            },
            Event::Disconnected {
                reason,
                retry_in_ms,
            } => FlatEvent {
                text: reason,
                retry_in_ms,
                ..of("disconnected")
            },
            Event::Gap(gap) => FlatEvent {
                text: gap.to_string(),
                slot: Some(gap.slot),
                tip_slot: gap.tip_slot,
                parent_slot: gap.parent_slot,
                ..of("gap")
            },
            Event::Unhealthy { reason, cause } => FlatEvent {
                text: reason,
                cause: cause.name(),
                ..of("unhealthy")
            },
            Event::Server(version) => said(server_kind(&version), version.name),
            Event::Healthy => of("healthy"),
        }
    }
}
