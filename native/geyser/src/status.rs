//! The statuses that clients match on, in the words of Yellowstone where it has some.

use tonic::{Code, Status};

/// A reader is too far behind. Yellowstone has the same words.
pub fn lagged() -> Status {
    Status::internal("lagged to receive geyser messages")
}

/// A slot from which nothing can be replayed any more.
pub fn too_old(slot: u64, first: u64) -> Status {
    Status::out_of_range(format!(
        "broadcast from {slot} is not available, last available: {first}"
    ))
}

/// A slot whose changes the index does not have all.
pub fn incomplete(slot: u64) -> Status {
    Status::data_loss(format!(
        "the index lacks accounts of slots up to {slot}: read them, and subscribe again"
    ))
}

/// A slot whose changes can no longer be read. Another attempt from it would fail too.
pub fn damaged(slot: u64) -> Status {
    Status::data_loss(format!(
        "the changes of slot {slot} are damaged: subscribe again from slot {}",
        slot + 1
    ))
}

/// A slot with transactions from before they were kept whole.
pub fn no_transactions(slot: u64) -> Status {
    Status::data_loss(format!(
        "the index does not keep whole transactions of slot {slot}"
    ))
}

/// A slot with entries from before they were kept, or that the source has not sent.
pub fn no_entries(slot: u64) -> Status {
    Status::data_loss(format!("the index does not keep entries of slot {slot}"))
}

/// The source of a stream has ended. What it says itself may name an endpoint or a token.
pub fn interrupted(slot: u64) -> Status {
    Status::data_loss(format!(
        "the source was interrupted after slot {slot}: updates are missing from there to the first \
         slot of your next stream; subscribe again"
    ))
}

pub fn unreachable() -> Status {
    Status::unavailable("the source of this network cannot be reached: try again")
}

pub fn no_call() -> Status {
    Status::unimplemented("method disabled: the source of this network does not have it")
}

pub fn no_filters() -> Status {
    Status::failed_precondition(
        "the source of this network does not allow all that these filters need",
    )
}

pub fn no_source() -> Status {
    Status::unimplemented("method disabled: this network has no source to pass it through from")
}

pub fn replaced() -> Status {
    Status::unavailable("the index was replaced: subscribe again")
}

pub fn no_index() -> Status {
    Status::unavailable("the index has no block yet")
}

pub fn shutting_down() -> Status {
    Status::unavailable("the server is shutting down")
}

/// What a filter may not be.
pub fn invalid_filter(reason: &str) -> Status {
    Status::invalid_argument(format!("failed to create filter: {reason}"))
}

/// Of a read that failed; the reason is in the log of the process.
pub fn internal() -> Status {
    Status::internal("internal error")
}

/// Why a call is refused or a stream ends, as the event loop decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No such token at this location, or no longer.
    Unauthenticated,
    /// A known token, but not from this address.
    Address,
    /// Before or after the validity of the access.
    Ended,
    /// The access has as many streams as it may.
    Streams,
    /// Over the rate of the access.
    Rate,
    /// It is not known whether accesses are current, or there is no room.
    Unavailable,
}

impl Refusal {
    pub fn named(name: &str) -> Option<Refusal> {
        Some(match name {
            "unauthenticated" => Refusal::Unauthenticated,
            "address" => Refusal::Address,
            "ended" => Refusal::Ended,
            "streams" => Refusal::Streams,
            "rate" => Refusal::Rate,
            "unavailable" => Refusal::Unavailable,
            _ => return None,
        })
    }

    /// Clients try again after RESOURCE_EXHAUSTED and UNAVAILABLE, and not after the others.
    pub fn status(self) -> Status {
        match self {
            Refusal::Unauthenticated => Status::unauthenticated("No valid auth token"),
            Refusal::Address => Status::unauthenticated("The token is not valid at this address"),
            Refusal::Ended => Status::unauthenticated("The access is not valid at this time"),
            Refusal::Streams => Status::resource_exhausted("max subscription limit exceeded"),
            Refusal::Rate => Status::resource_exhausted("too many requests"),
            Refusal::Unavailable => Status::unavailable("the server cannot admit calls now"),
        }
    }
}

/// A status has no copy that keeps its metadata; these have none.
pub fn copy(status: &Status) -> Status {
    Status::new(Code::from(status.code() as i32), status.message())
}
