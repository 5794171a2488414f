//! Transactions as JSON, with the bytes of Agave's `getTransaction`: its own crate writes them.

mod convert;
#[cfg(test)]
mod tests;
mod view;

pub use view::{Details, Encoding, Shape, TransactionView};

use std::panic::{AssertUnwindSafe, catch_unwind};

use primitives::encoding::encode_long_base58;
use prost::Message;
use serde::Serialize;
use solana_transaction_status::{
    BlockEncodingOptions, ConfirmedBlock, EncodeError, EncodedTransaction,
    EncodedTransactionWithStatusMeta, TransactionBinaryEncoding, TransactionDetails,
    TransactionWithStatusMeta, UiTransactionEncoding,
};
use yellowstone_grpc_proto::geyser::SubscribeUpdateTransactionInfo;
use yellowstone_grpc_proto::prost;

use convert::to_transaction;

/// Why an item has no transaction; named as by richat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Failure {
    /// Over `maxSupportedTransactionVersion`.
    UnsupportedTransactionVersion(u8),
    Parse(&'static str),
}

/// A feed that was not asked for all of it, as before a change of the configuration.
const ABSENT: Failure = Failure::Parse("the index has not all of this transaction");
const MALFORMED: Failure = Failure::Parse("the feed sent a malformed transaction");

/// Appends `"transaction":{…},` or `"error":{…},` if the view has either; `full` is a
/// SubscribeUpdateTransactionInfo in protobuf.
pub fn push_transaction_member(out: &mut Vec<u8>, view: TransactionView, full: Option<&[u8]>) {
    if !view.details.has_transaction() {
        return;
    }
    let start = out.len();
    let encoded = full.ok_or(ABSENT).and_then(|full| encode(view, full));
    let written = match &encoded {
        Ok(transaction) => push_member(out, "transaction", transaction),
        Err(failure) => push_member(out, "error", failure),
    };
    if written.is_err() {
        out.truncate(start);
        // Cannot fail: it is a constant.
        let _ = push_member(out, "error", &MALFORMED);
    }
}

fn push_member(out: &mut Vec<u8>, name: &str, value: &impl Serialize) -> serde_json::Result<()> {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    serde_json::to_writer(&mut *out, value)?;
    out.push(b',');
    Ok(())
}

fn encode(view: TransactionView, full: &[u8]) -> Result<EncodedTransactionWithStatusMeta, Failure> {
    let info = SubscribeUpdateTransactionInfo::decode(full).map_err(|_| MALFORMED)?;
    let transaction = to_transaction(info).ok_or(MALFORMED)?;
    // The crate takes a transaction to be one of a block: it panics at an index that names no key,
    // and a panic would end the frames of all subscriptions.
    let encoded = catch_unwind(AssertUnwindSafe(|| encode_as_agave(view, transaction)));
    match encoded.map_err(|_| MALFORMED)? {
        Ok(encoded) => encoded.ok_or(MALFORMED),
        Err(EncodeError::UnsupportedTransactionVersion(version)) => {
            Err(Failure::UnsupportedTransactionVersion(version))
        }
    }
}

/// As in a block: only there does the crate have all details.
fn encode_as_agave(
    view: TransactionView,
    transaction: TransactionWithStatusMeta,
) -> Result<Option<EncodedTransactionWithStatusMeta>, EncodeError> {
    let block = ConfirmedBlock {
        previous_blockhash: String::new(),
        blockhash: String::new(),
        parent_slot: 0,
        transactions: vec![transaction],
        rewards: Vec::new(),
        num_partitions: None,
        block_time: None,
        block_height: None,
    };
    let encoding = match view.encoding {
        Encoding::Base64 | Encoding::Base58 => UiTransactionEncoding::Base64,
        Encoding::Json => UiTransactionEncoding::Json,
        Encoding::JsonParsed => UiTransactionEncoding::JsonParsed,
    };
    let options = BlockEncodingOptions {
        transaction_details: match view.details {
            Details::Accounts => TransactionDetails::Accounts,
            _ => TransactionDetails::Full,
        },
        show_rewards: view.shows_rewards,
        max_supported_transaction_version: view.version_max,
    };
    let block = block.encode_with_options(encoding, options)?;
    let encoded = block.transactions.and_then(|mut encoded| encoded.pop());
    Ok(encoded.map(|encoded| match view.encoding {
        Encoding::Base58 => in_base58(encoded),
        _ => encoded,
    }))
}

/// The crate's own base58 takes a digit at a time.
fn in_base58(encoded: EncodedTransactionWithStatusMeta) -> EncodedTransactionWithStatusMeta {
    let transaction = match encoded.transaction {
        EncodedTransaction::Binary(text, _) => {
            let bytes = base64_simd::STANDARD
                .decode_to_vec(text)
                .unwrap_or_default();
            EncodedTransaction::Binary(
                encode_long_base58(&bytes),
                TransactionBinaryEncoding::Base58,
            )
        }
        other => other,
    };
    EncodedTransactionWithStatusMeta {
        transaction,
        ..encoded
    }
}
