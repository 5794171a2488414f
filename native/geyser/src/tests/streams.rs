//! A server with its sockets: what clients get, and what becomes of those that do not read.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use futures::StreamExt;
use http::uri::PathAndQuery;
use store::testing::{Temporary, account, block, number, open, options};
use store::{AccountUpdate, Block, Store, TransactionUpdate};
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::transport::Endpoint;
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;
use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof;
use yellowstone_grpc_proto::geyser::*;

use super::transaction;
use crate::calls::Event;
use crate::server::{ListenerOptions, Options, Server};
use crate::status::Refusal;
use crate::transaction_filter::Kept;

const PATIENCE: Duration = Duration::from_secs(20);
const STALL: Duration = Duration::from_millis(600);

struct Bench {
    store: Arc<Store>,
    dir: tempfile::TempDir,
    server: Arc<Server>,
    address: SocketAddr,
    runtime: Runtime,
}

type Updates = Streaming<SubscribeUpdate>;

impl Bench {
    /// A server that admits every token but `wrong`, with blocks 5 to 9.
    fn new() -> Bench {
        let Temporary { store, dir } = open(&options());
        let store = Arc::new(store);
        for slot in 5..10 {
            let accounts = vec![account(number(1), slot, number(50), &[7; 10])];
            store.apply(&block(slot, accounts)).unwrap();
        }
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server::open(Options {
            listeners: vec![ListenerOptions {
                descriptor: socket.as_raw_fd(),
                certificates: Vec::new(),
            }],
            networks: 1,
            threads: 2,
            version: "test".to_string(),
            stall: STALL,
        });
        let server = Arc::new(server.unwrap());
        server.serve(0, Arc::clone(&store), Kept::Full).unwrap();
        let own = Arc::clone(&server);
        thread::spawn(move || admit_all(&own));
        Bench {
            store,
            dir,
            server,
            address: socket.local_addr().unwrap(),
            runtime: Runtime::new().unwrap(),
        }
    }

    fn apply(&self, block: &Block) {
        self.store.apply(block).unwrap();
        self.server.refresh(0).unwrap();
    }

    fn subscribe(&self, request: SubscribeRequest, token: &str) -> Result<Updates, Status> {
        let uri = format!("http://{}", self.address);
        let token = token.parse().unwrap();
        self.runtime.block_on(async move {
            let channel = Endpoint::from_shared(uri).unwrap().connect().await.unwrap();
            let mut grpc = Grpc::new(channel);
            grpc.ready().await.unwrap();
            let requests = futures::stream::iter([request]).chain(futures::stream::pending());
            let mut call = Request::new(requests);
            call.metadata_mut().insert("x-token", token);
            let path = PathAndQuery::from_static("/geyser.Geyser/Subscribe");
            let codec = ProstCodec::<SubscribeRequest, SubscribeUpdate>::default();
            Ok(grpc.streaming(call, path, codec).await?.into_inner())
        })
    }

    /// Sends requests of 3.5 MB on so many streams, again and again, as fast as they are taken.
    fn flood(&self, streams: usize) {
        let address = |n: u64| primitives::encoding::encode_pubkey(&number(n));
        let filter = SubscribeRequestFilterAccounts {
            account: (0..80_000).map(address).collect(),
            ..SubscribeRequestFilterAccounts::default()
        };
        let request = SubscribeRequest {
            accounts: [("flood".to_string(), filter)].into(),
            ..SubscribeRequest::default()
        };
        for _ in 0..streams {
            let (uri, request) = (format!("http://{}", self.address), request.clone());
            self.runtime.spawn(async move {
                let channel = Endpoint::from_shared(uri).unwrap().connect().await.unwrap();
                let mut grpc = Grpc::new(channel);
                grpc.ready().await.unwrap();
                let requests = futures::stream::repeat(request);
                let mut call = Request::new(requests);
                call.metadata_mut()
                    .insert("x-token", "flood".parse().unwrap());
                let path = PathAndQuery::from_static("/geyser.Geyser/Subscribe");
                let codec = ProstCodec::<SubscribeRequest, SubscribeUpdate>::default();
                let mut updates = grpc
                    .streaming(call, path, codec)
                    .await
                    .unwrap()
                    .into_inner();
                while let Some(Ok(_)) = updates.next().await {}
            });
        }
    }

    fn next(&self, updates: &mut Updates) -> Result<SubscribeUpdate, Status> {
        let next = self
            .runtime
            .block_on(async { timeout(PATIENCE, updates.next()).await });
        next.expect("an update in time")
            .expect("no end without a status")
    }
}

fn admit_all(server: &Server) {
    loop {
        let (sender, events) = channel();
        server.receive(Box::new(move |events| drop(sender.send(events))));
        let Ok(Some(events)) = events.recv() else {
            return;
        };
        for event in events {
            match event {
                Event::Call { call, token, .. } if token == "wrong" => {
                    server.refuse(call, Refusal::Unauthenticated);
                }
                Event::Call { call, token, .. } => drop(server.admit(call, 0, &token, 100)),
                Event::Ended { .. } => {}
            }
        }
    }
}

fn all(from_slot: Option<u64>) -> SubscribeRequest {
    SubscribeRequest {
        accounts: [("a".to_string(), SubscribeRequestFilterAccounts::default())].into(),
        slots: [("s".to_string(), SubscribeRequestFilterSlots::default())].into(),
        blocks_meta: [("m".to_string(), SubscribeRequestFilterBlocksMeta {})].into(),
        from_slot,
        ..SubscribeRequest::default()
    }
}

fn name_of(update: &SubscribeUpdate) -> String {
    match update.update_oneof.as_ref().unwrap() {
        UpdateOneof::Account(account) => format!("account {}", account.slot),
        UpdateOneof::BlockMeta(meta) => format!("meta {}", meta.slot),
        UpdateOneof::Slot(slot) => format!("slot {} {}", slot.slot, slot.status),
        UpdateOneof::Transaction(one) => {
            format!(
                "transaction {} {}",
                one.slot,
                one.transaction.as_ref().unwrap().index
            )
        }
        UpdateOneof::TransactionStatus(status) => {
            format!(
                "status {} {} {}",
                status.slot,
                status.index,
                status.err.is_some()
            )
        }
        _ => "other".to_string(),
    }
}

fn names(bench: &Bench, updates: &mut Updates, count: usize) -> Vec<String> {
    let next = |_| name_of(&bench.next(updates).unwrap());
    (0..count).map(next).collect()
}

/// A block of 16 MiB.
fn large(slot: u64) -> Block {
    let of = |n| account(number(n), slot, number(50), &vec![n as u8; 1 << 20]);
    block(slot, (1..=16).map(of).collect::<Vec<AccountUpdate>>())
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
    let mut slow = bench.subscribe(all(None), "slow").unwrap();
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
    let ended = loop {
        match bench.next(&mut slow) {
            Ok(_) => {}
            Err(status) => break status,
        }
    };
    assert!(ended.code() != Code::Ok, "{ended:?}");
    let stats = bench.server.stats();
    assert_eq!((stats.lagged, stats.streams), (1, 1));
    assert!(stats.resident_bytes < 200 << 20, "{}", stats.resident_bytes);
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
    // Who asks for no content is not concerned.
    let metas = SubscribeRequest {
        accounts: [].into(),
        ..all(Some(8))
    };
    let mut updates = bench.subscribe(metas, "token").unwrap();
    assert_eq!(names(&bench, &mut updates, 2), ["meta 8", "slot 8 1"]);
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
