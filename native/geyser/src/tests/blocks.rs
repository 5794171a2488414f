//! Filters of whole blocks: their messages against a reference of a few lines, and with sockets.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use primitives::encoding::encode_pubkey;
use proptest::prelude::*;
use store::testing::{account, block, number};
use store::{Block, Scope};
use tonic::Code;
use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::*;
use yellowstone_grpc_proto::prost::Message;

use super::bench::{Bench, Updates, large, name_of, names, whole};
use super::{entry, meta, parts, read, transaction};
use crate::codec::blocks::Pieces;
use crate::content::{Block as Header, KeptOfBlock};
use crate::filter::transactions::Kept;
use crate::filter::{Filters, Served};
use crate::message::Update;
use crate::sending::Sending;
use crate::status::Refusal;

fn with_blocks(filters: Vec<SubscribeRequestFilterBlocks>) -> SubscribeRequest {
    let named = filters.into_iter().enumerate();
    SubscribeRequest {
        blocks: named.map(|(n, filter)| (n.to_string(), filter)).collect(),
        blocks_meta: [("m".to_string(), SubscribeRequestFilterBlocksMeta {})].into(),
        ..SubscribeRequest::default()
    }
}

fn keys(numbers: &[u64]) -> Vec<String> {
    numbers.iter().map(|&n| encode_pubkey(&number(n))).collect()
}

fn parse(request: &SubscribeRequest, scope: Scope, kept: Kept) -> Result<Filters, String> {
    let parsed = Filters::parse(request, &Served { scope, kept }, 1_000);
    parsed.map_err(|status| status.message().to_string())
}

/// The message of a block, as it is written in pieces.
fn written(update: Update) -> SubscribeUpdate {
    let Update::Block(block) = update else {
        panic!("not a block");
    };
    let length = block.byte_count();
    let mut pieces = Pieces::new(*block).unwrap();
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next() {
        assert!(piece.len() < 33 * 1024, "a piece of {}", piece.len());
        bytes.extend_from_slice(&piece);
    }
    assert_eq!(bytes[0], 0);
    assert_eq!(bytes[1..5], (length as u32).to_be_bytes());
    assert_eq!(bytes.len(), length + 5);
    SubscribeUpdate::decode(&bytes[5..]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_block_has_what_the_reference_has(
        include in prop::collection::vec(0u64..8, 0..4),
        include_transactions: Option<bool>,
        include_accounts: Option<bool>,
        (include_entries, entries) in (any::<Option<bool>>(), 0u64..5),
        transactions in prop::collection::vec(prop::collection::vec(0u64..8, 1..5), 0..6),
        accounts in prop::collection::btree_map(
            0u64..8, prop_oneof![3 => 0usize..40, 1 => 60_000usize..70_000], 0..6),
        slice in prop::option::of((0u64..20, 0u64..60)),
    ) {
        let rows: Vec<_> = transactions
            .iter()
            .enumerate()
            .map(|(at, keys)| transaction(at, keys, at % 2 == 0))
            .collect();
        let updates = accounts
            .iter()
            .map(|(&n, &length)| account(number(n), n + 1, number(50), &vec![n as u8; length]));
        let content = Arc::new(read(&Block {
            transactions: rows.clone(),
            parts: parts(entries),
            ..block(5, updates.collect())
        }));
        let filter = SubscribeRequestFilterBlocks {
            account_include: keys(&include),
            include_transactions,
            include_accounts,
            include_entries,
            ..SubscribeRequestFilterBlocks::default()
        };
        let slices = slice.map(|(offset, length)| SubscribeRequestAccountsDataSlice { offset, length });
        let request = SubscribeRequest {
            accounts_data_slice: slices.into_iter().collect(),
            ..with_blocks(vec![filter])
        };
        let filters = parse(&request, Scope::All, Kept::FullAndEntries).unwrap();
        let header = Header {
            tip: store::Tip {
                slot: 5,
                blockhash: [5; 32],
                parent_slot: 4,
                block_height: 3,
                block_time: Some(9),
                root: 2,
            },
            parent_blockhash: [4; 32],
            kept: Arc::new(KeptOfBlock { meta: meta(entries), ..KeptOfBlock::default() }),
        };
        let made = Sending::of(&filters, &header, Arc::clone(&content));
        let mut sending = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(made);
        let update = written(sending.next(&filters).unwrap());
        prop_assert!(sending.next(&filters).is_none());
        let has = |list: &[u64]| include.is_empty() || list.iter().any(|n| include.contains(n));
        let wanted = SubscribeUpdateBlock {
            slot: 5,
            blockhash: encode_pubkey(&[5; 32]),
            parent_slot: 4,
            parent_blockhash: encode_pubkey(&[4; 32]),
            block_height: Some(yellowstone_grpc_proto::solana::storage::confirmed_block::BlockHeight {
                block_height: 3,
            }),
            block_time: Some(yellowstone_grpc_proto::solana::storage::confirmed_block::UnixTimestamp {
                timestamp: 9,
            }),
            updated_account_count: accounts.len() as u64,
            executed_transaction_count: 70,
            entries_count: entries,
            rewards: meta(0).rewards,
            entries: (0..entries)
                .filter(|_| include_entries == Some(true))
                .map(|at| SubscribeUpdateEntry { slot: 5, bank_id: 5, ..entry(at) })
                .collect(),
            bank_id: 5,
            transactions: rows
                .iter()
                .zip(&transactions)
                .filter(|(_, keys)| include_transactions != Some(false) && has(keys))
                .map(|(row, _)| {
                    let full = row.details.as_ref().unwrap().full.as_ref().unwrap();
                    SubscribeUpdateTransactionInfo::decode(&full[..]).unwrap()
                })
                .collect(),
            accounts: accounts
                .iter()
                .enumerate()
                .filter(|(_, (n, _))| include_accounts == Some(true) && has(&[**n]))
                .map(|(at, (&n, &length))| SubscribeUpdateAccountInfo {
                    pubkey: number(n).to_vec(),
                    lamports: n + 1,
                    owner: number(50).to_vec(),
                    rent_epoch: u64::MAX,
                    data: match slice {
                        None => vec![n as u8; length],
                        Some((offset, size)) if (offset + size) as usize <= length => {
                            vec![n as u8; size as usize]
                        }
                        Some(_) => Vec::new(),
                    },
                    write_version: (5 << 20) + at as u64,
                    ..SubscribeUpdateAccountInfo::default()
                })
                .collect(),
        };
        prop_assert_eq!(update.filters, ["0"]);
        prop_assert_eq!(update.update_oneof, Some(UpdateOneof::Block(wanted)));
    }
}

#[test]
fn what_is_not_kept_of_blocks_is_refused() {
    let scope = || Scope::Listed {
        programs: vec![number(50)],
        mints: Vec::new(),
        pubkeys: vec![number(1)],
    };
    let asks = |filter: SubscribeRequestFilterBlocks, scope: Scope, kept: Kept| {
        parse(&with_blocks(vec![filter]), scope, kept).err()
    };
    let any = SubscribeRequestFilterBlocks::default;
    assert_eq!(asks(any(), Scope::All, Kept::Full), None);
    let refused = asks(any(), Scope::All, Kept::None).unwrap();
    assert!(refused.ends_with("must be false: the index does not keep whole transactions"));
    let none = SubscribeRequestFilterBlocks {
        include_transactions: Some(false),
        ..any()
    };
    assert_eq!(asks(none, Scope::All, Kept::None), None);
    let entries = SubscribeRequestFilterBlocks {
        include_entries: Some(true),
        ..any()
    };
    let refused = asks(entries.clone(), Scope::All, Kept::Full).unwrap();
    assert!(
        refused.contains("`include_entries` is not allowed"),
        "{refused}"
    );
    assert_eq!(asks(entries, Scope::All, Kept::FullAndEntries), None);
    assert_eq!(asks(any(), scope(), Kept::Full), None);
    let refused = asks(whole(), scope(), Kept::Full).unwrap();
    assert!(refused.contains("`include_accounts` without an `account_include`"));
    let of = |n: u64| SubscribeRequestFilterBlocks {
        account_include: keys(&[n]),
        ..whole()
    };
    assert_eq!(asks(of(1), scope(), Kept::Full), None);
    let refused = asks(of(2), scope(), Kept::Full).unwrap();
    assert!(refused.ends_with("is outside the scope of the index"));
    let many = parse(&with_blocks(vec![any(); 5]), Scope::All, Kept::Full);
    assert!(many.unwrap_err().ends_with("only 4 allowed"));
}

#[test]
fn a_block_comes_after_its_parts_and_before_its_meta() {
    let bench = Bench::new();
    let any = SubscribeRequestFilterTransactions::default();
    let request = SubscribeRequest {
        accounts: [("a".to_string(), SubscribeRequestFilterAccounts::default())].into(),
        transactions: [("t".to_string(), any)].into(),
        slots: [("s".to_string(), SubscribeRequestFilterSlots::default())].into(),
        entry: [("e".to_string(), SubscribeRequestFilterEntry::default())].into(),
        block_footer: [("short", None), ("whole", Some(true))]
            .map(|(name, include_certificates)| {
                let filter = SubscribeRequestFilterBlockFooter {
                    include_certificates,
                };
                (name.to_string(), filter)
            })
            .into(),
        from_slot: Some(10),
        ..with_blocks(vec![whole(), SubscribeRequestFilterBlocks::default()])
    };
    let mut updates = bench.subscribe(request, "token").unwrap();
    bench.apply(&Block {
        transactions: vec![transaction(0, &[1], false)],
        parts: parts(2),
        ..block(10, vec![account(number(3), 1, number(50), &[7; 9])])
    });
    let wanted = [
        "account 10",
        "transaction 10 0",
        "entry 10 0",
        "entry 10 1",
        "block 10 1 1",
        "block 10 1 0",
        "footer 10 false",
        "footer 10 true",
        "meta 10",
        "slot 10 1",
    ];
    assert_eq!(names(&bench, &mut updates, 10), wanted);
    let finalized = SubscribeRequest {
        commitment: Some(CommitmentLevel::Finalized as i32),
        from_slot: Some(10),
        ..with_blocks(vec![whole()])
    };
    let mut updates = bench.subscribe(finalized, "token").unwrap();
    bench.apply(&Block {
        root: Some(10),
        ..block(11, vec![])
    });
    assert_eq!(names(&bench, &mut updates, 2), ["block 10 1 1", "meta 10"]);
}

#[test]
fn entries_that_the_source_has_not_sent_are_no_silence() {
    let bench = Bench::new();
    let request = SubscribeRequest {
        entry: [("e".to_string(), SubscribeRequestFilterEntry::default())].into(),
        from_slot: Some(10),
        ..SubscribeRequest::default()
    };
    let mut updates = bench.subscribe(request, "token").unwrap();
    let mut lacking = parts(3);
    bench.apply(&Block {
        parts: lacking.clone(),
        ..block(10, vec![])
    });
    lacking.entries.pop();
    bench.apply(&Block {
        parts: lacking,
        ..block(11, vec![])
    });
    let wanted = ["entry 10 0", "entry 10 1", "entry 10 2"];
    assert_eq!(names(&bench, &mut updates, 3), wanted);
    let status = bench.next(&mut updates).unwrap_err();
    let text = "the index does not keep entries of slot 11";
    assert_eq!((status.code(), status.message()), (Code::DataLoss, text));
}

/// Waits until a stream has begun, which it does with the block that is made for it.
fn begin(bench: &Bench, updates: &mut [&mut Updates], slot: u64) {
    bench
        .runtime
        .block_on(async { tokio::time::sleep(Duration::from_millis(200)).await });
    bench.apply(&block(slot, vec![]));
    for one in updates {
        while name_of(&bench.next(one).unwrap()) != format!("meta {slot}") {}
    }
}

#[test]
fn a_closed_stream_leaves_its_block_unfinished() {
    let bench = Bench::new();
    let mut updates = bench
        .subscribe(with_blocks(vec![whole()]), "token")
        .unwrap();
    begin(&bench, &mut [&mut updates], 10);
    bench.apply(&large(11));
    bench
        .runtime
        .block_on(async { tokio::time::sleep(Duration::from_millis(200)).await });
    bench.server.close(1, Refusal::Unauthenticated);
    let (sender, settled) = channel();
    bench
        .server
        .settle(Box::new(move || sender.send(()).unwrap()));
    settled.recv().unwrap();
    // The client does not get the block, whose bytes have not all left.
    assert!(bench.next(&mut updates).is_err());
    assert_eq!(bench.server.stats().streams, 0);
}

#[test]
fn long_requests_are_taken_or_refused() {
    let bench = Bench::new();
    let filter = |count: u64| SubscribeRequestFilterBlocks {
        account_include: keys(&(0..count).collect::<Vec<u64>>()),
        ..whole()
    };
    let mut updates = bench
        .subscribe(with_blocks(vec![filter(10_000)]), "token")
        .unwrap();
    begin(&bench, &mut [&mut updates], 10);
    bench.apply(&block(11, vec![account(number(7), 1, number(50), &[])]));
    assert_eq!(names(&bench, &mut updates, 1), ["block 11 0 1"]);
    // 8 MiB of addresses.
    let mut refused = bench
        .subscribe(with_blocks(vec![filter(190_000)]), "token")
        .unwrap();
    assert_eq!(
        bench.next(&mut refused).unwrap_err().code(),
        Code::OutOfRange
    );
    let mut refused = bench
        .subscribe(with_blocks(vec![filter(50_000); 3]), "token")
        .unwrap();
    let status = bench.next(&mut refused).unwrap_err();
    assert_eq!(status.code(), Code::OutOfRange, "{status:?}");
}

#[test]
fn a_block_is_delivered_as_fast_as_its_parts() {
    let bench = Bench::new();
    let of = |slot: u64| Block {
        transactions: (0..1_500)
            .map(|at| transaction(at, &[1, 2, 3], false))
            .collect(),
        ..block(
            slot,
            (0..10_000)
                .map(|n| account(number(n), slot, number(50), &[7; 165]))
                .collect(),
        )
    };
    let any = SubscribeRequestFilterTransactions::default();
    let parts = SubscribeRequest {
        accounts: [("a".to_string(), SubscribeRequestFilterAccounts::default())].into(),
        transactions: [("t".to_string(), any)].into(),
        ..with_blocks(vec![])
    };
    let mut slot = 10;
    let mut measure = |request: SubscribeRequest| {
        let mut updates = bench.subscribe(request, "token").unwrap();
        begin(&bench, &mut [&mut updates], slot);
        // The shortest: what else the machine does meanwhile only adds to it.
        let times = (1..=5).map(|n| {
            bench.store.apply(&of(slot + n)).unwrap();
            let began = Instant::now();
            bench.server.refresh(0).unwrap();
            while name_of(&bench.next(&mut updates).unwrap()) != format!("meta {}", slot + n) {}
            began.elapsed()
        });
        let shortest = times.min().unwrap();
        slot += 6;
        shortest
    };
    let (parts, block) = (measure(parts), measure(with_blocks(vec![whole()])));
    let ratio = block.as_secs_f64() / parts.as_secs_f64();
    println!("parts {parts:?}, block {block:?} to the last byte: {ratio:.2}");
    assert!(ratio < 1.5, "parts {parts:?}, block {block:?}");
}
