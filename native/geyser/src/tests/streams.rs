//! A server with its sockets: what clients get, and what becomes of those that do not read.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use store::testing::block;
use store::{Block, TransactionUpdate};
use tonic::Code;
use yellowstone_grpc_proto::geyser::*;

use super::bench::{Bench, STALL, large, name_of, names, whole};
use super::transaction;
use crate::reflection::{Answer, Asked, Found, Question};
use crate::status::Refusal;

fn all(from_slot: Option<u64>) -> SubscribeRequest {
    SubscribeRequest {
        accounts: [("a".to_string(), SubscribeRequestFilterAccounts::default())].into(),
        slots: [("s".to_string(), SubscribeRequestFilterSlots::default())].into(),
        blocks_meta: [("m".to_string(), SubscribeRequestFilterBlocksMeta {})].into(),
        from_slot,
        ..SubscribeRequest::default()
    }
}

#[test]
fn a_replay_continues_live_and_by_commitment() {
    let bench = Bench::new();
    let mut confirmed = bench.subscribe(all(Some(8)), "token").unwrap();
    let wanted = [
        "account 8",
        "meta 8",
        "slot 8 1",
        "account 9",
        "meta 9",
        "slot 9 1",
    ];
    assert_eq!(names(&bench, &mut confirmed, 6), wanted);
    let finalized = SubscribeRequest {
        commitment: Some(CommitmentLevel::Finalized as i32),
        ..all(Some(8))
    };
    let mut finalized = bench.subscribe(finalized, "token").unwrap();
    assert_eq!(names(&bench, &mut finalized, 2), ["slot 8 1", "slot 9 1"]);
    bench.apply(&Block {
        root: Some(8),
        ..block(10, vec![])
    });
    let wanted = ["slot 10 1", "account 8", "meta 8", "slot 8 2"];
    assert_eq!(names(&bench, &mut finalized, 4), wanted);
    assert_eq!(
        names(&bench, &mut confirmed, 3),
        ["meta 10", "slot 10 1", "slot 8 2"]
    );
    let mut old = bench.subscribe(all(Some(4)), "token").unwrap();
    let status = bench.next(&mut old).unwrap_err();
    assert_eq!(status.code(), Code::OutOfRange);
    let text = "broadcast from 4 is not available, last available: 6";
    assert_eq!(status.message(), text);
    let mut future = bench.subscribe(all(Some(12)), "token").unwrap();
    thread::sleep(Duration::from_millis(50));
    for slot in 11..=12 {
        bench.apply(&block(slot, vec![]));
    }
    assert_eq!(names(&bench, &mut future, 1), ["meta 12"]);
    let wrong = bench.subscribe(all(None), "wrong").unwrap_err();
    assert_eq!(
        (wrong.code(), wrong.message()),
        (Code::Unauthenticated, "No valid auth token")
    );
}

#[test]
fn a_client_that_does_not_read_ends_and_delays_nobody() {
    let bench = Bench::new();
    // Each block is 16 MiB of accounts, and for most of these four messages of as much.
    let blocks = |n: u32| (n.to_string(), whole());
    let of_blocks = SubscribeRequest {
        blocks: (0..4).map(blocks).collect(),
        ..SubscribeRequest::default()
    };
    let mut slow = vec![bench.subscribe(all(None), "slow").unwrap()];
    for _ in 0..8 {
        slow.push(bench.subscribe(of_blocks.clone(), "slow").unwrap());
    }
    let mut other = bench.subscribe(all(None), "other").unwrap();
    // Both have subscribed when the first status comes.
    bench
        .runtime
        .block_on(async { tokio::time::sleep(Duration::from_millis(200)).await });
    let mut longest = Duration::ZERO;
    let began = Instant::now();
    let mut slot = 10;
    while began.elapsed() < STALL * 4 {
        bench.apply(&large(slot));
        let applied = Instant::now();
        while name_of(&bench.next(&mut other).unwrap()) != format!("slot {slot} 1") {}
        longest = longest.max(applied.elapsed());
        slot += 1;
    }
    println!("{} blocks of 16 MiB, each within {longest:?}", slot - 10);
    // What was sent before is read, then the stream ends.
    for updates in &mut slow {
        let ended = loop {
            match bench.next(updates) {
                Ok(_) => {}
                Err(status) => break status,
            }
        };
        assert!(ended.code() != Code::Ok, "{ended:?}");
    }
    let stats = bench.server.stats();
    assert_eq!((stats.lagged, stats.streams), (9, 1));
    assert!(stats.resident_bytes < 200 << 20, "{}", stats.resident_bytes);
}

#[test]
fn streams_that_lag_give_back_their_slots_soon() {
    let bench = Bench::new();
    let resident = || bench.server.stats().resident_bytes;
    let mut slow = Vec::new();
    for slot in 10..20 {
        slow.push(bench.subscribe(all(None), "slow").unwrap());
        bench
            .runtime
            .block_on(async { tokio::time::sleep(Duration::from_millis(50)).await });
        bench.apply(&large(slot));
    }
    let most = resident();
    assert!(most > 100 << 20, "each stays at a slot of its own: {most}");
    // 0.6 s of a stall, 0.5 s until it is noticed, and 1 s to take the status.
    let until = Instant::now() + Duration::from_secs(4);
    while resident() > 80 << 20 && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(resident() <= 80 << 20, "{} of {most}", resident());
}

#[test]
fn a_closed_stream_sends_nothing_more() {
    let bench = Bench::new();
    let mut updates = bench.subscribe(all(Some(9)), "token").unwrap();
    assert_eq!(
        names(&bench, &mut updates, 3),
        ["account 9", "meta 9", "slot 9 1"]
    );
    for call in 1..5 {
        bench.server.close(call, Refusal::Unauthenticated);
    }
    let (sender, settled) = channel();
    let began = Instant::now();
    bench
        .server
        .settle(Box::new(move || sender.send(()).unwrap()));
    settled.recv().unwrap();
    assert!(
        began.elapsed() < Duration::from_millis(90),
        "{:?}",
        began.elapsed()
    );
    bench.apply(&block(10, vec![]));
    let status = bench.next(&mut updates).unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (Code::Unauthenticated, "No valid auth token")
    );
}

#[test]
fn transactions_come_whole_and_as_outcomes() {
    let bench = Bench::new();
    let failed = SubscribeRequestFilterTransactions {
        failed: Some(true),
        ..SubscribeRequestFilterTransactions::default()
    };
    let any = SubscribeRequestFilterTransactions::default();
    let request = SubscribeRequest {
        transactions: [("t".to_string(), any)].into(),
        transactions_status: [("s".to_string(), failed)].into(),
        from_slot: Some(10),
        ..SubscribeRequest::default()
    };
    let mut updates = bench.subscribe(request, "token").unwrap();
    bench.apply(&Block {
        transactions: vec![transaction(0, &[1], false), transaction(1, &[2], true)],
        ..block(10, vec![])
    });
    let wanted = ["transaction 10 0", "transaction 10 1", "status 10 1 true"];
    assert_eq!(names(&bench, &mut updates, 3), wanted);
    // Of the next slot only the outcomes are kept.
    let status = TransactionUpdate {
        details: None,
        ..transaction(0, &[1], false)
    };
    bench.apply(&Block {
        transactions: vec![status],
        ..block(11, vec![])
    });
    let status = bench.next(&mut updates).unwrap_err();
    assert_eq!(status.code(), Code::DataLoss);
}

#[test]
fn damaged_changes_of_a_slot_are_named() {
    let bench = Bench::new();
    let segments = std::fs::read_dir(bench.dir.path().join("feed")).unwrap();
    for segment in segments {
        let path = segment.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, vec![0x55; bytes.len()]).unwrap();
    }
    for _ in 0..2 {
        let mut updates = bench.subscribe(all(Some(7)), "token").unwrap();
        let status = bench.next(&mut updates).unwrap_err();
        let text = "the changes of slot 7 are damaged: subscribe again from slot 8";
        assert_eq!((status.code(), status.message()), (Code::DataLoss, text));
    }
    // The counts of a block meta are kept there, too.
    let metas = SubscribeRequest {
        accounts: [].into(),
        ..all(Some(8))
    };
    let mut updates = bench.subscribe(metas.clone(), "token").unwrap();
    let status = bench.next(&mut updates).unwrap_err();
    assert_eq!(status.code(), Code::DataLoss);
    // Who asks for nothing of it is not concerned.
    let slots = SubscribeRequest {
        blocks_meta: [].into(),
        ..metas
    };
    let mut updates = bench.subscribe(slots, "token").unwrap();
    assert_eq!(names(&bench, &mut updates, 2), ["slot 8 1", "slot 9 1"]);
}

#[test]
fn requests_without_end_delay_nobody() {
    let bench = Bench::new();
    let mut other = bench.subscribe(all(None), "other").unwrap();
    let mut measure = |slots: std::ops::Range<u64>| {
        let mut times: Vec<Duration> = slots
            .map(|slot| {
                thread::sleep(Duration::from_millis(50));
                bench.apply(&block(slot, vec![]));
                let applied = Instant::now();
                while name_of(&bench.next(&mut other).unwrap()) != format!("slot {slot} 1") {}
                applied.elapsed()
            })
            .collect();
        times.sort();
        (times[times.len() / 2], times[times.len() - 1])
    };
    let idle = measure(10..40);
    bench.flood(16);
    thread::sleep(Duration::from_millis(500));
    let beside = measure(40..80);
    println!("idle {idle:?}, beside the flood {beside:?} (median, longest)");
    // With requests as fast as they come it is 26 ms.
    assert!(
        beside.0 < Duration::from_millis(15),
        "idle {idle:?}, beside {beside:?}"
    );
}

#[test]
fn a_tool_learns_the_calls() {
    let bench = Bench::new();
    let ask = |token: &str, asked: Asked| {
        let question = Question {
            host: String::new(),
            asked: Some(asked),
        };
        let path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
        let answers = bench.call::<_, Answer>(path, question, token)?;
        Ok::<_, tonic::Status>(bench.next_of(answers)?.found.unwrap())
    };
    let list = || Asked::ListServices(String::new());
    let Found::Services(services) = ask("token", list()).unwrap() else {
        panic!("no list");
    };
    assert_eq!(services.service[0].name, "geyser.Geyser");
    let symbol = |name: &str| Asked::FileContainingSymbol(name.to_string());
    let Found::Files(files) = ask("token", symbol("geyser.Geyser")).unwrap() else {
        panic!("no files");
    };
    // A field of the newest messages that this build knows.
    let has = |file: &Vec<u8>| file.windows(12).any(|bytes| bytes == b"block_footer");
    assert!(files.file.len() == 3 && files.file.iter().any(has));
    let unknown = ask("token", symbol("geyserx.Geyser")).unwrap();
    assert!(matches!(unknown, Found::Error(error) if error.error_code == 5));
    let refused = ask("wrong", list()).unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    let long = ask("token", symbol(&"x".repeat(2_000))).unwrap_err();
    assert_eq!(long.code(), Code::OutOfRange);
}
