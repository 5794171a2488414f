//! Reasons why a subscription ended, described for an operator.

use std::error::Error as StdError;

use tonic::{Code, Status};

use super::config::GeyserConfig;
use super::event::{Cause, Gap};
use super::subscription_plan::SubscriptionPlan;
use super::update::Fault;

/// Maximum number of characters copied from a server's message.
const TEXT_CHARS_MAX: usize = 300;

/// Why a subscription ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// Temporary: network error, restart, silence, full buffer or malformed message. A retry may
    /// succeed.
    Passing(String),
    /// Messages arrive, but no blocks.
    Stuck(String),
    /// The store rejected a write.
    Store(String),
    /// Permanent until a setting changes.
    Refused(String),
    /// The same, because of the call or one of the filters that the request has.
    Unserved(String),
    /// The server no longer has the requested slot.
    ReplayGone(String),
    /// The server stores no slots for replay.
    ReplayUnsupported(String),
    Gap(Gap),
}

impl Failure {
    pub fn text(&self) -> String {
        match self {
            Failure::Passing(text)
            | Failure::Stuck(text)
            | Failure::Store(text)
            | Failure::Refused(text)
            | Failure::Unserved(text)
            | Failure::ReplayGone(text)
            | Failure::ReplayUnsupported(text) => text.clone(),
            Failure::Gap(gap) => gap.to_string(),
        }
    }

    pub fn cause(&self) -> Cause {
        match self {
            Failure::Passing(_) => Cause::Unreachable,
            Failure::Stuck(_) => Cause::Stalled,
            Failure::Store(_) => Cause::Store,
            Failure::Refused(_) | Failure::Unserved(_) => Cause::Refused,
            Failure::ReplayGone(_) | Failure::ReplayUnsupported(_) | Failure::Gap(_) => Cause::Gap,
        }
    }

    pub fn from_fault(fault: Fault) -> Failure {
        match fault {
            Fault::Gap(gap) => Failure::Gap(gap),
            other => Failure::Passing(other.to_string()),
        }
    }

    /// Describes a failed connection with all source errors: the outermost error says only
    /// "transport error".
    pub fn from_transport(config: &GeyserConfig, error: &tonic::transport::Error) -> Failure {
        let mut text = format!("no connection to {}", config.shown_endpoint());
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&clean(config, &error.to_string()));
            cause = error.source();
        }
        Failure::Passing(text)
    }

    pub fn from_status(config: &GeyserConfig, status: &Status) -> Failure {
        let text = clean(config, status.message());
        let has = |part: &str| text.contains(part);
        let is_behind = status.code() == Code::DataLoss || is_lag(&text);
        // Servers report an unavailable from_slot as OUT_OF_RANGE or INTERNAL. tonic's message size
        // limit is OUT_OF_RANGE too.
        if has("message length too large") || has("message too large") {
            return Failure::Refused(format!("{text}: raise decodeBytesMax"));
        }
        if has("from_slot is not supported") {
            return Failure::ReplayUnsupported(
                "the feed keeps no slots to replay (from_slot is not supported; its setting is \
                 replay_stored_slots)"
                    .to_string(),
            );
        }
        if has("is not available, last available") {
            return Failure::ReplayGone(text);
        }
        match status.code() {
            // Before the codes: servers report it as INTERNAL, DATA_LOSS or RESOURCE_EXHAUSTED. A
            // replay from the tip brings what was lost, as long as the server still has it.
            _ if is_behind => Failure::Passing(format!(
                "the feed is faster than the network or this reader: see acceptZstd and \
                 windowBytes. Its message: {text}"
            )),
            Code::OutOfRange => Failure::ReplayGone(text),
            Code::InvalidArgument => Failure::Unserved(explain_filter(config, &text)),
            Code::Unauthenticated | Code::PermissionDenied => {
                Failure::Refused(format!("the feed refuses our x_token: {text}"))
            }
            Code::Unimplemented => Failure::Unserved(format!(
                "{} does not speak geyser.Geyser: {text}",
                config.shown_endpoint()
            )),
            // A quick retry would only add another request over the limit.
            Code::ResourceExhausted => Failure::Refused(format!(
                "{} accepts no further subscription: end another one of this x_token, or ask for a \
                 higher limit. Its message: {text}",
                config.shown_endpoint()
            )),
            code => Failure::Passing(format!("the feed ended the stream ({code:?}): {text}")),
        }
    }
}

/// Whether a server says that its queue for this client overflowed: the network or this reader was
/// too slow for a while. Yellowstone says "lagged to send an update" and "lagged to receive geyser
/// messages"; proxies in front of it have texts of their own.
fn is_lag(text: &str) -> bool {
    let text = text.to_lowercase();
    ["lagged", "lagging", "slow consumer", "too slow"]
        .iter()
        .any(|words| text.contains(words))
}

/// Names the server plugin's setting that rejects the request.
fn explain_filter(config: &GeyserConfig, text: &str) -> String {
    let plan = config.plan.resolve(&config.accounts);
    let is_any = text.contains("full stream") || text.contains("`any`");
    let advice = if text.contains("include_accounts") {
        "plan `blocks` needs a plugin that sends blocks with accounts \
         (filters.blocks.include_accounts = true); plan `accounts` does without"
    } else if is_any && matches!(plan, SubscriptionPlan::Blocks | SubscriptionPlan::Narrow) {
        "the plugin must allow all transactions (filters.transactions.any = true), or set \
         feed.transactions to none"
    } else if is_any && plan == SubscriptionPlan::Scoped {
        "the plugin must allow every account (filters.accounts.any = true), because accounts by \
         lamports count as any; plan `narrow` does without"
    } else if is_any {
        "the plugin must allow every account (filters.accounts.any = true), or the scope must list \
         programs, for plan `narrow`"
    } else if text.contains("amount of filters") {
        "the plugin allows too few filters (filters.accounts.max) for this scope; plan `narrow` \
         needs one where the scope lists programs only"
    } else if text.contains("amount of") && text.to_lowercase().contains("pubkeys") {
        "the plugin allows fewer addresses (filters.accounts.account_max, owner_max) than this \
         scope lists"
    } else if text.contains("not allowed") {
        "the plugin rejects an address of this scope (filters.accounts.account_reject, \
         owner_reject)"
    } else {
        "compare the scope with the plugin's filters"
    };
    format!("the feed refuses the subscription: {advice}. Its message: {text}")
}

/// Sanitizes a server's text: removes the x-token and control characters and limits the length.
fn clean(config: &GeyserConfig, text: &str) -> String {
    // First, because a control character may be within the token.
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    let text = match config.x_token.as_deref() {
        Some(token) if !token.is_empty() => text.replace(token, "[hidden]"),
        _ => text,
    };
    text.chars().take(TEXT_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain(status: Status) -> Failure {
        let config = GeyserConfig {
            endpoint: "http://feed:1".into(),
            x_token: Some("s3cret".into()),
            ..GeyserConfig::default()
        };
        Failure::from_status(&config, &status)
    }

    #[test]
    fn statuses_are_classified_by_code_and_text() {
        let gone = "broadcast from 5 is not available, last available: 9";
        assert_eq!(
            explain(Status::out_of_range(gone)),
            Failure::ReplayGone(gone.into())
        );
        assert_eq!(
            explain(Status::internal(gone)),
            Failure::ReplayGone(gone.into())
        );
        let none = explain(Status::internal("from_slot is not supported"));
        assert!(matches!(none, Failure::ReplayUnsupported(_)));
        assert!(matches!(
            explain(Status::internal("catching up")),
            Failure::Passing(_)
        ));
        assert!(matches!(
            explain(Status::unavailable("bye")),
            Failure::Passing(_)
        ));
        let large = "Error, decoded message length too large: found 9 bytes, the limit is: 8 bytes";
        let large = explain(Status::out_of_range(large));
        assert!(matches!(large, Failure::Refused(text) if text.contains("decodeBytesMax")));
    }

    #[test]
    fn a_client_that_lagged_reconnects_at_once_whatever_the_code() {
        let lags = [
            Status::internal("lagged to receive geyser messages"),
            Status::resource_exhausted("lagged to send an update"),
            Status::resource_exhausted("Client is LAGGING behind"),
            Status::resource_exhausted("slow consumer: disconnected"),
            Status::aborted("client is too slow"),
            Status::data_loss("lagged"),
            Status::data_loss("gap"),
        ];
        for status in lags {
            let shown = format!("{status:?}");
            let Failure::Passing(text) = explain(status) else {
                panic!("{shown}")
            };
            assert!(text.contains("windowBytes"), "{text}");
        }
        // A limit of subscriptions is not a lag: another request would only be one more over it.
        let limit = explain(Status::resource_exhausted(
            "max subscription limit exceeded",
        ));
        assert!(matches!(limit, Failure::Refused(_)));
        let denied = explain(Status::permission_denied("no"));
        assert!(matches!(denied, Failure::Refused(_)));
    }

    #[test]
    fn a_rejected_filter_names_the_plugin_setting() {
        let cases = [
            (
                "Subscribe on full stream with `any` is not allowed",
                "filters.accounts.any",
            ),
            (
                "Max amount of filters/data_slices reached, only 1 allowed",
                "filters.accounts.max",
            ),
            (
                "Max amount of Pubkeys reached, only 10 allowed",
                "account_max",
            ),
            (
                "`include_accounts` is not allowed",
                "filters.blocks.include_accounts",
            ),
            (
                "Pubkey Tokenkeg in filters is not allowed",
                "account_reject",
            ),
        ];
        for (said, setting) in cases {
            let status = Status::invalid_argument(format!("failed to create filter: {said}"));
            let Failure::Unserved(text) = explain(status) else {
                panic!("{said}")
            };
            assert!(text.contains(setting) && text.contains(said), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_status_becomes_one_short_line_without_the_token(
            code in 0..20_i32,
            text in "(s3cret|s3c|ret|\\PC|\n|is not available, last available|lagged|`any`){0,60}",
        ) {
            let shown = explain(Status::new(Code::from(code), text)).text();
            proptest::prop_assert!(!shown.contains("s3cret") && !shown.contains('\n'));
            proptest::prop_assert!(shown.chars().count() < 2 * TEXT_CHARS_MAX);
        }
    }

    #[test]
    fn the_token_is_removed_from_server_messages() {
        let text = explain(Status::unauthenticated("token s3cret\nis unknown")).text();
        assert_eq!(
            text,
            "the feed refuses our x_token: token [hidden]is unknown"
        );
        let long = explain(Status::unavailable("x".repeat(100_000))).text();
        assert!(long.len() < 400);
    }
}
