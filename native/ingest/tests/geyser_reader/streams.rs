//! Tests of valid feeds and of interruptions.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ingest::geyser::{Event, Transactions};
use store::{Change, Options, Store};
use tonic::Status;
use yellowstone_grpc_proto::geyser::SlotStatus;

use crate::chain::*;
use crate::harness::*;
use crate::server::{CERTIFICATE, FeedServer, Step};

#[test]
fn blocks_become_durable_in_order() {
    let server = FeedServer::start(|_, _| {
        let mut steps = vec![ping(), transaction_status(11, None)];
        steps.extend(blocks(11..=12));
        steps.push(transaction_status(13, Some(vec![8, 0, 0, 0])));
        steps.extend(blocks(13..=15));
        Ok(then_hang(steps))
    });
    let h = read(&server, |config| {
        config.x_token = Some("s3cret".into());
        config.transactions = Transactions::Status;
    });
    let events = h.events.wait_committed(15);
    h.events
        .wait("healthy", |events| events.contains(&Event::Healthy));
    assert_eq!(committed(&events), [11, 12, 13, 14, 15]);
    assert_eq!(
        events[0],
        Event::Connected {
            from_slot: Some(11),
            has_footers: true,
        }
    );
    let Some(Event::Committed {
        block_height: 14,
        accounts: 1,
        feed_lag_ms: Some(lag),
        ..
    }) = events
        .iter()
        .find(|event| matches!(event, Event::Committed { slot: 15, .. }))
    else {
        panic!("{events:?}")
    };
    assert!(*lag < 10_000);
    let blocks = h.sink.blocks.lock().unwrap().clone();
    assert_eq!(blocks[0].accounts[0].data, vec![11; 100]);
    assert_eq!(blocks[0].accounts[0].rent_epoch, u64::MAX);
    assert_eq!(blocks[0].block_time, Some(1_700_000_000));
    assert_eq!(blocks[0].transactions[0].error, None);
    assert_eq!(blocks[2].transactions[0].error, Some(vec![8, 0, 0, 0]));
    let seen = server.wait_seen("the answer to the ping", |seen| !seen[0].pings.is_empty());
    h.reader.stop().unwrap();
    let seen = &seen[0];
    assert_eq!(seen.x_token.as_deref(), Some("s3cret"));
    assert_eq!(seen.pings, [1], "the ping was answered");
    assert_eq!(seen.request.transactions_status.len(), 1);
}

#[test]
fn logs_and_roots_reach_the_store() {
    let server = FeedServer::start(|_, _| {
        let mut steps = vec![transaction(11, Some(vec![8, 0, 0, 0]), &["one", "two"])];
        steps.extend(blocks(11..=12));
        // Block 12 is complete before these, and data of another slot ends its wait for a root.
        steps.push(account(13, 100));
        steps.push(status(11, SlotStatus::SlotProcessed));
        steps.push(status(11, SlotStatus::SlotFinalized));
        steps.extend(block(13));
        Ok(then_hang(steps))
    });
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_writer(dir.path(), &Options::default()).unwrap();
    let endpoint = format!("http://{}", server.address);
    let h = read_from(Arc::new(store), endpoint, |config| {
        config.transactions = Transactions::Logs;
    });
    h.events.wait_committed(13);
    let snapshot = h.sink.snapshot().unwrap();
    let roots = (11..=13).map(|slot| snapshot.block(slot).unwrap().unwrap().root);
    assert_eq!(roots.collect::<Vec<_>>(), [0, 0, 11]);
    let mut received = Vec::new();
    let is_held = snapshot.feed(11, &mut |change| {
        if let Change::Transaction {
            signature,
            error,
            is_vote,
            keys,
            logs,
            ..
        } = change
        {
            let first: Vec<u8> = keys.iter().map(|key| key[0]).collect();
            let lines: Vec<Vec<u8>> = logs.map(<[u8]>::to_vec).collect();
            received.push((
                signature[0],
                error.map(<[u8]>::to_vec),
                is_vote,
                first,
                lines,
            ));
        }
        Ok(())
    });
    assert!(is_held.unwrap());
    let lines = vec![b"one".to_vec(), b"two".to_vec()];
    let expected = (11, Some(vec![8, 0, 0, 0]), false, vec![1, 2, 3, 4], lines);
    assert_eq!(received, [expected]);
    let found = snapshot.signature(&[11; 64]).unwrap().unwrap();
    assert_eq!((found.slot, found.error), (11, Some(&[8, 0, 0, 0][..])));
    drop(snapshot);
    h.reader.stop().unwrap();
    let seen = &server.seen()[0].request;
    assert_eq!(
        (seen.transactions.len(), seen.transactions_status.len()),
        (1, 0)
    );
}

#[test]
fn an_account_of_10_mib_is_applied() {
    let server = FeedServer::start(|_, _| Ok(then_hang(block_of(11, 10 << 20))));
    for accept_zstd in [true, false] {
        let h = read(&server, |config| config.accept_zstd = accept_zstd);
        h.events.wait_committed(11);
        assert_eq!(
            h.sink.blocks.lock().unwrap()[0].accounts[0].data,
            vec![11; 10 << 20]
        );
        h.reader.stop().unwrap();
    }
}

#[test]
fn a_disconnect_within_a_slot_is_replayed_from_the_tip() {
    let server = FeedServer::start(|_, index| {
        let mut steps = blocks(11..=12);
        match index {
            0 => steps.extend([account(13, 100), Step::Pause(Duration::from_millis(50))]),
            1 => {
                steps.extend(block(13));
                steps.push(account(14, 100));
                steps.push(Step::Fail(Status::unavailable("lagged to send an update")));
            }
            _ => {
                steps.extend(blocks(13..=15));
                steps.push(Step::Hang);
            }
        }
        Ok(steps)
    });
    let h = read(&server, |_| {});
    let events = h.events.wait_committed(15);
    assert_eq!(committed(&events), [11, 12, 13, 14, 15]);
    assert_eq!(server.asked_slots(), [Some(11), Some(12), Some(13)]);
    h.events
        .wait_text("disconnected", "the feed closed the stream");
    h.events
        .wait_text("disconnected", "faster than the network or this reader");
    h.reader.stop().unwrap();
}

#[test]
fn a_silent_stream_is_reconnected() {
    let server = FeedServer::start(|_, index| match index {
        0 => Ok(then_hang(block(11))),
        _ => Ok(then_hang(blocks(11..=12))),
    });
    let h = read(&server, |config| config.block_silence_ms = 300);
    h.events.wait_committed(12);
    h.events
        .wait_text("unhealthy", "no message for 300 ms (blockSilenceMs)");
    assert_eq!(server.asked_slots()[..2], [Some(11), Some(11)]);
    h.reader.stop().unwrap();
}

#[test]
fn a_stream_of_pings_without_blocks_is_unhealthy() {
    let server = FeedServer::start(|_, index| {
        if index > 0 {
            return Ok(then_hang(blocks(11..=12)));
        }
        let mut steps = block(11);
        for _ in 0..40 {
            steps.extend([ping(), Step::Pause(Duration::from_millis(25))]);
        }
        Ok(steps)
    });
    let h = read(&server, |config| config.block_silence_ms = 400);
    h.events.wait_committed(12);
    h.events
        .wait_text("unhealthy", "brought no block for 400 ms (blockSilenceMs)");
    h.reader.stop().unwrap();
}

#[test]
fn duplicate_slots_and_statuses_are_applied_once() {
    let server = FeedServer::start(|_, _| {
        let mut steps = blocks(11..=12);
        steps.extend(blocks(11..=12));
        steps.push(status(12, SlotStatus::SlotConfirmed));
        steps.push(status(12, SlotStatus::SlotFinalized));
        steps.extend(blocks(12..=14));
        Ok(then_hang(steps))
    });
    let h = read(&server, |_| {});
    assert_eq!(committed(&h.events.wait_committed(14)), [11, 12, 13, 14]);
    assert_eq!(server.seen().len(), 1);
    h.reader.stop().unwrap();
}

#[test]
fn a_gap_is_closed_by_a_replay() {
    let server = FeedServer::start(|_, index| {
        let mut steps = block(11);
        if index > 0 {
            steps.extend(block(12));
        }
        steps.extend(blocks(13..=18));
        Ok(then_hang(steps))
    });
    let h = read(&server, |_| {});
    let events = h.events.wait_committed(18);
    assert_eq!(committed(&events), (11..=18).collect::<Vec<_>>());
    let text = "gap after slot 11: the feed gave slot 13, whose parent 12 never came";
    h.events.wait_text("gap", text);
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Unhealthy { .. }))
    );
    assert_eq!(server.asked_slots(), [Some(11), Some(11)]);
    h.reader.stop().unwrap();
}

#[test]
fn an_empty_store_starts_at_the_live_head_with_a_complete_slot() {
    let server = FeedServer::start(|_, _| {
        let mut steps = vec![meta(11), status(11, SlotStatus::SlotConfirmed)];
        steps.extend(blocks(12..=13));
        Ok(then_hang(steps))
    });
    let h = read(&server, |config| config.start_slot = None);
    assert_eq!(committed(&h.events.wait_committed(13)), [12, 13]);
    assert_eq!(server.asked_slots(), [None]);
    h.reader.stop().unwrap();
}

#[test]
fn a_restarted_reader_resumes_at_the_store_s_tip() {
    let server = FeedServer::start(|request, _| match request.from_slot {
        Some(from) => Ok(then_hang(blocks(from..=from + 2))),
        None => Err(Status::internal("no from_slot")),
    });
    let h = read(&server, |_| {});
    h.events.wait_committed(13);
    h.reader.stop().unwrap();
    let again = read_from(h.sink, format!("http://{}", server.address), |_| {});
    assert_eq!(committed(&again.events.wait_committed(15)), [14, 15]);
    assert_eq!(server.asked_slots(), [Some(11), Some(13)]);
    again.reader.stop().unwrap();
}

#[test]
fn stop_is_quick_in_a_silent_stream_and_in_a_back_off() {
    let hanging = FeedServer::start(|_, _| Ok(then_hang(block(11))));
    let failing = FeedServer::start(|_, _| Err(Status::internal("no")));
    for server in [&hanging, &failing] {
        let h = read(server, |config| config.backoff_initial_ms = 60_000);
        h.events.wait("an event", |events| !events.is_empty());
        let begun = Instant::now();
        h.reader.stop().unwrap();
        assert!(begun.elapsed() < Duration::from_secs(2));
    }
}

#[test]
fn stop_waits_only_for_the_current_commit() {
    let server = FeedServer::start(|_, _| Ok(then_hang(blocks(11..=15))));
    for (is_released, outcome) in [(true, true), (false, false)] {
        let sink = MemorySink::default();
        sink.hold(true);
        let h = read_into(sink, &server, |config| {
            config.stop_timeout_ms = if is_released { 10_000 } else { 100 };
            config.group_blocks_max = 1;
        });
        while h.sink.applies_begun.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        let sink = Arc::clone(&h.sink);
        let release = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(if is_released { 50 } else { 300 }));
            sink.hold(false);
        });
        assert_eq!(h.reader.stop().is_ok(), outcome);
        assert_eq!(h.sink.slots(), if is_released { vec![11] } else { vec![] });
        release.join().unwrap();
    }
}

#[test]
fn a_real_store_follows_the_feed() {
    let server = FeedServer::start(|request, index| {
        let from = request.from_slot.unwrap_or(0);
        let mut steps = blocks(from..=from + 4);
        if index == 0 {
            // Ends within a slot. Earlier slots are durable.
            steps.push(account(from + 5, 100));
            return Ok(steps);
        }
        Ok(then_hang(steps))
    });
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        map_bytes: 64 << 20,
        disk_reserve_bytes: 0,
        ..Options::default()
    };
    let store = Arc::new(Store::open_writer(directory.path(), &options).unwrap());
    let harness = read_from(
        Arc::clone(&store),
        format!("http://{}", server.address),
        |_| {},
    );
    let events = harness.events.wait_committed(19);
    assert_eq!(committed(&events), (11..=19).collect::<Vec<_>>());
    harness.reader.stop().unwrap();
    assert_eq!(server.asked_slots(), [Some(11), Some(15)]);
    let tip = store.tip().unwrap().unwrap();
    assert_eq!(
        (tip.slot, tip.blockhash, tip.block_height),
        (19, hash(19), 18)
    );
    let snapshot = store.snapshot().unwrap();
    let account = snapshot.account(&[13; 32]).unwrap().unwrap();
    assert_eq!(
        (account.slot, account.lamports, account.rent_epoch),
        (13, 13, u64::MAX)
    );
    assert_eq!(account.data, [13; 100]);
    drop(snapshot);
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_tls_feed_is_read_only_with_a_trusted_certificate() {
    let server = FeedServer::start_tls(|_, _| Ok(then_hang(block(11))));
    let endpoint = format!("https://{}", server.address);
    let known = read_from(
        Arc::new(MemorySink::default()),
        endpoint.clone(),
        |config| {
            config.ca_certificate_pem = Some(CERTIFICATE.to_string());
        },
    );
    known.events.wait_committed(11);
    known.reader.stop().unwrap();
    let unknown = read_from(Arc::new(MemorySink::default()), endpoint, |_| {});
    unknown
        .events
        .wait_text("disconnected", "no connection to https://127.0.0.1");
    unknown.reader.stop().unwrap();
    assert!(unknown.sink.slots().is_empty());
}
