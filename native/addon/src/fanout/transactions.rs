//! Subscriptions to transactions at the native boundary.

use fanout::TransactionFilter;
use napi_derive::napi;
use sys::error::Result as Checked;
use wire::transaction_json::{Details, Encoding, Shape, TransactionView};

use crate::arguments::{pubkeys, signature, whole};
use crate::js_bytes::CopiedBytes;

/// Which transactions are subscribed to. The lists have 32 bytes for each account.
#[napi(object, object_to_js = false)]
pub struct TransactionFilterData {
    pub is_vote: Option<bool>,
    pub is_failed: Option<bool>,
    #[napi(ts_type = "Uint8Array")]
    pub signature: Option<CopiedBytes>,
    /// At least one of them, unless there are none.
    #[napi(ts_type = "Uint8Array")]
    pub include: CopiedBytes,
    /// None of them.
    #[napi(ts_type = "Uint8Array")]
    pub exclude: CopiedBytes,
    /// All of them.
    #[napi(ts_type = "Uint8Array")]
    pub required: CopiedBytes,
}

/// How they are shown.
#[napi(object, object_to_js = false)]
pub struct TransactionViewData {
    /// Full 0, accounts 1, signatures 2, none 3.
    pub details: f64,
    /// base64 0, base58 1, json 2, jsonParsed 3.
    pub encoding: f64,
    pub shows_rewards: bool,
    /// Absent: legacy transactions only.
    pub version_max: Option<f64>,
    /// In the shape of richat, in place of that of Helius.
    pub is_named: bool,
}

pub(super) fn to_filter(data: &TransactionFilterData) -> Checked<TransactionFilter> {
    let sorted = |bytes: &CopiedBytes| -> Checked<Box<[[u8; 32]]>> {
        let mut keys = pubkeys(bytes)?.to_vec();
        keys.sort_unstable();
        keys.dedup();
        Ok(keys.into())
    };
    let signature = data.signature.as_ref().map(|bytes| signature(bytes));
    Ok(TransactionFilter {
        is_vote: data.is_vote,
        is_failed: data.is_failed,
        signature: signature.transpose()?,
        include: sorted(&data.include)?,
        exclude: sorted(&data.exclude)?,
        required: sorted(&data.required)?,
    })
}

pub(super) fn to_view(data: &TransactionViewData) -> Checked<TransactionView> {
    let code = |number: f64, what: &str| -> Checked<usize> { Ok(whole(number, 3, what)? as usize) };
    let version = data
        .version_max
        .map(|version| whole(version, 255, "a version"));
    Ok(TransactionView {
        details: Details::ALL[code(data.details, "details")?],
        encoding: Encoding::ALL[code(data.encoding, "an encoding")?],
        shows_rewards: data.shows_rewards,
        version_max: version.transpose()?.map(|version| version as u8),
        shape: if data.is_named {
            Shape::Named
        } else {
            Shape::Positional
        },
    })
}
