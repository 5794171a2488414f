//! Real transactions through the feed's protobuf, and bytes that are none.

use proptest::prelude::*;
use serde_json::{Value, json};
use solana_message::VersionedMessage;
use solana_transaction::versioned::VersionedTransaction;
use yellowstone_grpc_proto::geyser::SubscribeUpdateTransactionInfo;
use yellowstone_grpc_proto::prost::Message;
use yellowstone_grpc_proto::solana::storage::confirmed_block as proto;

use super::*;

const VIEW: TransactionView = TransactionView {
    details: Details::Full,
    encoding: Encoding::Base64,
    shows_rewards: true,
    version_max: Some(0),
    shape: Shape::Positional,
};

fn shown(view: TransactionView, full: Option<&[u8]>) -> Value {
    let mut out = b"{".to_vec();
    push_transaction_member(&mut out, view, full);
    out.extend_from_slice(b"\"end\":0}");
    serde_json::from_slice(&out).unwrap()
}

/// What a feed sends of a transaction, whose keys all exist.
fn to_info(transaction: &VersionedTransaction) -> SubscribeUpdateTransactionInfo {
    let message = &transaction.message;
    let header = message.header();
    let bytes =
        |keys: &[solana_pubkey::Pubkey]| keys.iter().map(|key| key.to_bytes().to_vec()).collect();
    let lookups = message.address_table_lookups().unwrap_or_default();
    let loaded = |count: usize| vec![vec![7; 32]; count];
    let count = |of: fn(&solana_message::v0::MessageAddressTableLookup) -> usize| {
        lookups.iter().map(of).sum()
    };
    SubscribeUpdateTransactionInfo {
        signature: transaction.signatures[0].as_ref().to_vec(),
        index: 5,
        transaction: Some(proto::Transaction {
            signatures: transaction
                .signatures
                .iter()
                .map(|s| s.as_ref().to_vec())
                .collect(),
            message: Some(proto::Message {
                header: Some(proto::MessageHeader {
                    num_required_signatures: header.num_required_signatures.into(),
                    num_readonly_signed_accounts: header.num_readonly_signed_accounts.into(),
                    num_readonly_unsigned_accounts: header.num_readonly_unsigned_accounts.into(),
                }),
                account_keys: bytes(message.static_account_keys()),
                recent_blockhash: message.recent_blockhash().to_bytes().to_vec(),
                instructions: message
                    .instructions()
                    .iter()
                    .map(|instruction| proto::CompiledInstruction {
                        program_id_index: instruction.program_id_index.into(),
                        accounts: instruction.accounts.clone(),
                        data: instruction.data.clone(),
                    })
                    .collect(),
                versioned: !matches!(message, VersionedMessage::Legacy(_)),
                address_table_lookups: lookups
                    .iter()
                    .map(|lookup| proto::MessageAddressTableLookup {
                        account_key: lookup.account_key.to_bytes().to_vec(),
                        writable_indexes: lookup.writable_indexes.clone(),
                        readonly_indexes: lookup.readonly_indexes.clone(),
                    })
                    .collect(),
                config: None,
            }),
        }),
        meta: Some(proto::TransactionStatusMeta {
            fee: 5_000,
            loaded_writable_addresses: loaded(count(|lookup| lookup.writable_indexes.len())),
            loaded_readonly_addresses: loaded(count(|lookup| lookup.readonly_indexes.len())),
            return_data_none: true,
            ..proto::TransactionStatusMeta::default()
        }),
        ..SubscribeUpdateTransactionInfo::default()
    }
}

/// A legacy transaction of one signature and a System transfer.
fn transfer() -> SubscribeUpdateTransactionInfo {
    let bytes = [
        &[1][..],
        &[9; 64],
        &[1, 0, 1, 3],
        &[1; 32],
        &[2; 32],
        &[0; 32],
        &[4; 32],
        &[1, 2, 2, 0, 1, 12, 2, 0, 0, 0, 77, 0, 0, 0, 0, 0, 0, 0],
    ];
    to_info(&bincode::deserialize(&bytes.concat()).unwrap())
}

#[test]
fn real_transactions_keep_their_bytes_and_parse_in_every_encoding() {
    let Some(files) = fixtures::files("transactions") else {
        return;
    };
    let mut compared = 0;
    for (name, file) in files {
        if file["expect"] != "valid" || file["encoding"] != "base64" || name.starts_with("v1") {
            continue;
        }
        let text = file["tx"].as_str().unwrap();
        let bytes = base64_simd::STANDARD.decode_to_vec(text).unwrap();
        let transaction: VersionedTransaction = bincode::deserialize(&bytes).unwrap();
        let full = to_info(&transaction).encode_to_vec();
        let of = |encoding| shown(TransactionView { encoding, ..VIEW }, Some(&full));
        let base64 = of(Encoding::Base64);
        assert_eq!(
            base64["transaction"]["transaction"],
            json!([text, "base64"]),
            "{name}"
        );
        let base58 = of(Encoding::Base58);
        let digits = base58["transaction"]["transaction"][0].as_str().unwrap();
        let decoded = primitives::encoding::decode_long_base58(digits.as_bytes(), 1_232);
        assert_eq!(decoded.unwrap(), bytes, "{name}");
        let is_legacy = name.starts_with("legacy");
        let version = if is_legacy { json!("legacy") } else { json!(0) };
        assert_eq!(base64["transaction"]["version"], version);
        assert_eq!(base64["transaction"]["meta"]["fee"], 5_000);
        let first = transaction.signatures[0].to_string();
        for encoding in [Encoding::Json, Encoding::JsonParsed] {
            let shown = of(encoding);
            assert_eq!(
                shown["transaction"]["transaction"]["signatures"][0], first,
                "{name}"
            );
        }
        let details = Details::Accounts;
        let accounts = shown(TransactionView { details, ..VIEW }, Some(&full));
        let keys = &accounts["transaction"]["transaction"]["accountKeys"];
        assert!(keys.as_array().unwrap().len() >= 2, "{name}: {accounts}");
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn a_parsed_transfer_is_that_of_agave() {
    let full = transfer().encode_to_vec();
    let view = TransactionView {
        encoding: Encoding::JsonParsed,
        version_max: None,
        ..VIEW
    };
    let shown = shown(view, Some(&full));
    let instruction = &shown["transaction"]["transaction"]["message"]["instructions"][0];
    let wallet = |byte: u8| primitives::encoding::encode_pubkey(&[byte; 32]);
    assert_eq!(
        *instruction,
        json!({
            "program": "system",
            "programId": "11111111111111111111111111111111",
            "parsed": {
                "type": "transfer",
                "info": { "source": wallet(1), "destination": wallet(2), "lamports": 77 },
            },
            "stackHeight": 1,
        })
    );
    // As for old clients, which know no versions.
    assert!(shown["transaction"].get("version").is_none());
}

fn message_of(info: &mut SubscribeUpdateTransactionInfo) -> &mut proto::Message {
    let transaction = info.transaction.as_mut().unwrap();
    transaction.message.as_mut().unwrap()
}

#[test]
fn what_cannot_be_shown_is_an_error_of_the_item() {
    let mut versioned = transfer();
    message_of(&mut versioned).versioned = true;
    let mut first = versioned.clone();
    message_of(&mut first).config = Some(proto::TransactionConfig::default());
    let mut beyond = transfer();
    message_of(&mut beyond).instructions[0].program_id_index = 200;
    let parse = |text: &str| json!({ "Parse": text });
    let version = |version: u8| json!({ "UnsupportedTransactionVersion": version });
    let malformed = "the feed sent a malformed transaction";
    let cases = [
        (Some(versioned.clone()), None, version(0)),
        (Some(first.clone()), Some(0), version(1)),
        (Some(beyond), Some(0), parse(malformed)),
        (
            Some(SubscribeUpdateTransactionInfo::default()),
            Some(0),
            parse(malformed),
        ),
        (
            None,
            Some(0),
            parse("the index has not all of this transaction"),
        ),
    ];
    for (info, version_max, error) in cases {
        let full = info.map(|info| info.encode_to_vec());
        let view = TransactionView {
            encoding: Encoding::JsonParsed,
            version_max,
            ..VIEW
        };
        let shown = shown(view, full.as_deref());
        assert_eq!(shown, json!({ "error": error, "end": 0 }));
    }
    let view = TransactionView {
        version_max: Some(1),
        ..VIEW
    };
    let of_version_1 = shown(view, Some(&first.encode_to_vec()));
    assert_eq!(of_version_1["transaction"]["version"], 1);
    let view = TransactionView {
        details: Details::Signatures,
        ..VIEW
    };
    assert_eq!(shown(view, None), json!({ "end": 0 }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Of the feed come any bytes: a frame is JSON in any case.
    #[test]
    fn any_bytes_make_json(
        at in any::<prop::sample::Index>(),
        byte: u8,
        cut in any::<prop::sample::Index>(),
        encoding in prop::sample::select(&Encoding::ALL[..]),
        details in prop::sample::select(&Details::ALL[..]),
    ) {
        let mut full = transfer().encode_to_vec();
        let position = at.index(full.len());
        full[position] = byte;
        full.truncate(cut.index(full.len()) + full.len() / 2);
        shown(TransactionView { encoding, details, ..VIEW }, Some(&full));
    }
}
