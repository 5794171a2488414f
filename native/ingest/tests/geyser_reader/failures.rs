//! Tests of faulty feeds, wrong settings and a full disk.

use std::sync::Arc;
use std::time::Duration;

use ingest::geyser::Event;
use tonic::Status;
use yellowstone_grpc_proto::geyser::SlotStatus;

use crate::chain::*;
use crate::harness::*;
use crate::server::{FeedServer, Step};

fn count_unhealthy(events: &[Event]) -> usize {
    events
        .iter()
        .filter(|event| matches!(event, Event::Unhealthy { .. }))
        .count()
}

#[test]
fn an_unavailable_replay_is_unhealthy_until_a_block_arrives() {
    let server = FeedServer::start(|_, index| match index {
        0 => Ok(block(11)),
        1..=5 => Err(Status::out_of_range(
            "broadcast from 11 is not available, last available: 90",
        )),
        _ => Ok(then_hang(blocks(12..=13))),
    });
    let h = read(&server, |_| {});
    let reason = h
        .events
        .wait_text("unhealthy", "gap after slot 11: broadcast from 11 is not");
    assert!(reason.ends_with("last available: 90"));
    let events = h.events.wait_committed(13);
    assert_eq!(count_unhealthy(&events), 1, "said once");
    h.events.wait("healthy again", |events| {
        events
            .iter()
            .filter(|event| **event == Event::Healthy)
            .count()
            == 2
    });
    // The reader requests the tip's slot first, then the next slot.
    assert_eq!(
        server.asked_slots()[..4],
        [Some(11), Some(11), Some(12), Some(12)]
    );
    h.reader.stop().unwrap();
}

#[test]
fn a_feed_without_replay_is_unhealthy_and_names_the_setting() {
    let server = FeedServer::start(|_, index| match index {
        0 => Ok(block(11)),
        _ => Err(Status::internal("from_slot is not supported")),
    });
    let h = read(&server, |_| {});
    let reason = h.events.wait_text("unhealthy", "gap after slot 11");
    assert!(reason.contains("replay_stored_slots"), "{reason}");
    assert_eq!(h.sink.slots(), [11], "reads go on with what there is");
    h.reader.stop().unwrap();
}

#[test]
fn a_permanent_gap_is_unhealthy_and_never_skipped() {
    let server = FeedServer::start(|_, _| {
        let mut steps = block(11);
        steps.extend(blocks(13..=18));
        Ok(then_hang(steps))
    });
    let h = read(&server, |config| config.gap_attempts_max = 2);
    let reason = h.events.wait_text("unhealthy", "gap after slot 11");
    assert_eq!(
        reason,
        "gap after slot 11: the feed gave slot 13, whose parent 12 never came"
    );
    assert_eq!(h.sink.slots(), [11]);
    assert!(server.seen().len() >= 3);
    h.reader.stop().unwrap();
}

#[test]
fn a_restarted_chain_is_unhealthy() {
    let server = FeedServer::start(|request, index| {
        let from = request.from_slot.unwrap_or(0);
        if index == 0 {
            return Ok(block(11));
        }
        // Another block in the tip's slot.
        let mut steps = vec![meta(from)];
        if let Step::Send(update) = &mut steps[0]
            && let Some(yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof::BlockMeta(
                meta,
            )) = &mut update.update_oneof
        {
            meta.blockhash = meta.parent_blockhash.clone();
        }
        Ok(then_hang(steps))
    });
    let h = read(&server, |config| config.gap_attempts_max = 0);
    h.events
        .wait_text("unhealthy", "the feed has another block in slot 11");
    h.reader.stop().unwrap();
}

#[test]
fn a_permanent_internal_error_is_retried_at_a_limited_rate() {
    let server = FeedServer::start(|_, _| Err(Status::internal("the node is catching up")));
    let h = read(&server, |config| config.backoff_max_ms = 200);
    h.events.wait_text(
        "unhealthy",
        "5 failures in a row, the last: the feed ended the stream",
    );
    std::thread::sleep(Duration::from_secs(1));
    h.reader.stop().unwrap();
    let times: Vec<_> = server.seen().iter().map(|seen| seen.at).collect();
    assert!((6..=14).contains(&times.len()), "{} requests", times.len());
    let last_pause = times[times.len() - 1] - times[times.len() - 2];
    assert!(last_pause >= Duration::from_millis(195), "{last_pause:?}");
    assert_eq!(count_unhealthy(&h.events.all()), 1);
}

#[test]
fn a_rejected_filter_names_the_setting_and_no_event_contains_the_token() {
    let server = FeedServer::start(|_, index| {
        Err(match index {
            // With block footers, and without.
            0..=1 => Status::invalid_argument(
                "failed to create filter: Subscribe on full stream with `any` is not allowed, \
                 at least one filter required (token s3cret)",
            ),
            _ => Status::unauthenticated("s3cret is unknown"),
        })
    });
    let h = read(&server, |config| config.x_token = Some("s3cret".into()));
    let reason = h
        .events
        .wait_text("unhealthy", "the feed refuses the subscription");
    assert!(reason.contains("filters.accounts.any = true"), "{reason}");
    h.events.wait_text(
        "unhealthy",
        "the feed refuses our x_token: [hidden] is unknown",
    );
    assert!(!format!("{:?}", h.events.all()).contains("s3cret"));
    h.reader.stop().unwrap();
}

#[test]
fn a_server_that_refuses_footers_is_read_without_them() {
    let refusals = [
        Status::invalid_argument("failed to create filter: block_footer is not allowed"),
        Status::unimplemented("unknown filter"),
    ];
    for (refusal, is_late) in refusals
        .into_iter()
        .flat_map(|one| [(one.clone(), false), (one, true)])
    {
        let server = FeedServer::start(move |request, index| {
            match (request.block_footer.is_empty(), is_late) {
                (false, false) => Err(refusal.clone()),
                (false, true) => Ok(vec![Step::Fail(refusal.clone())]),
                // The second stream without them ends.
                (true, _) if index == 1 => Ok(blocks(11..=12)),
                (true, _) => Ok(then_hang(blocks(13..=14))),
            }
        });
        let h = read(&server, |_| {});
        let events = h.events.wait_committed(14);
        assert_eq!(committed(&events), [11, 12, 13, 14]);
        assert_eq!(count_unhealthy(&events), 0, "{events:?}");
        let is_refusal = |event: &&Event| matches!(event, Event::FootersRefused(_));
        assert_eq!(events.iter().filter(is_refusal).count(), 1, "{events:?}");
        let asked: Vec<_> = (server.seen().iter())
            .map(|seen| !seen.request.block_footer.is_empty())
            .collect();
        assert_eq!(asked, [true, false, false], "they are not asked for again");
        h.reader.stop().unwrap();
    }
}

#[test]
fn a_server_that_refuses_the_rest_too_is_asked_twice_a_pause() {
    let server = FeedServer::start(|_, _| Err(Status::invalid_argument("no")));
    let h = read(&server, |config| config.backoff_long_ms = 300);
    let seen = server.wait_seen("six requests", |seen| seen.len() >= 6);
    let asked: Vec<_> = seen
        .iter()
        .map(|one| !one.request.block_footer.is_empty())
        .collect();
    assert_eq!(asked[..6], [true, false, true, false, true, false]);
    assert!(seen[5].at - seen[0].at >= Duration::from_millis(600));
    h.events
        .wait_text("unhealthy", "the feed refuses the subscription");
    h.reader.stop().unwrap();
}

#[test]
fn a_burst_larger_than_the_buffer_is_replayed() {
    let server = FeedServer::start(|_, index| {
        let mut steps = block(11);
        if index == 0 {
            // Three incomplete slots of 8 MB each, over 20 MB together.
            steps.extend((12..15).map(|slot| account(slot, 8_000_000)));
            return Ok(then_hang(steps));
        }
        // As many bytes may wait for the writer: all three fit.
        steps.extend((12..15).flat_map(|slot| block_of(slot, 6_000_000)));
        Ok(then_hang(steps))
    });
    let h = read(&server, |config| config.buffer_bytes_max = 20_000_000);
    let events = h.events.wait_committed(14);
    assert_eq!(committed(&events), [11, 12, 13, 14]);
    h.events.wait_text(
        "disconnected",
        "over 20000000 bytes at slot 14 (bufferBytesMax)",
    );
    assert_eq!(server.asked_slots(), [Some(11), Some(11)]);
    h.reader.stop().unwrap();
}

#[test]
fn a_slow_writer_does_not_exceed_the_queue_limit_or_lose_blocks() {
    let server = FeedServer::start(|request, _| {
        let from = request.from_slot.unwrap_or(0);
        Ok(then_hang(
            (from..=18)
                .flat_map(|slot| block_of(slot, 4_000_000))
                .collect(),
        ))
    });
    let sink = MemorySink::default();
    sink.hold(true);
    let h = read_into(sink, &server, |config| config.buffer_bytes_max = 12_000_000);
    // The writer drains the queue before the failure is sent, so it must continue first.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(
        server.seen().len(),
        1,
        "no new subscription while the queue is full"
    );
    h.sink.hold(false);
    let events = h.events.wait_committed(18);
    h.events.wait_text(
        "disconnected",
        "over 12000000 bytes of blocks wait for the writer",
    );
    assert_eq!(committed(&events), (11..=18).collect::<Vec<_>>());
    for event in &events {
        if let Event::Committed { buffered_bytes, .. } = event {
            assert!(*buffered_bytes < 24_000_000, "{buffered_bytes}");
        }
    }
    h.reader.stop().unwrap();
}

#[test]
fn a_malformed_message_ends_the_stream_and_not_the_process() {
    let server = FeedServer::start(|_, index| {
        let mut steps = block(11);
        if index == 0 {
            steps.push(account_of(12, vec![1; 31], vec![]));
        }
        steps.extend(block(12));
        Ok(then_hang(steps))
    });
    let h = read(&server, |_| {});
    h.events.wait_committed(12);
    h.events
        .wait_text("disconnected", "slot 12: a pubkey of 31 bytes, not 32");
    h.reader.stop().unwrap();
}

#[test]
fn a_message_over_the_decode_limit_names_the_setting() {
    let server = FeedServer::start(|_, _| Ok(then_hang(block_of(11, 13 << 20))));
    let h = read(&server, |config| {
        config.decode_bytes_max = 12 << 20;
        config.accept_zstd = false;
    });
    h.events.wait_text("unhealthy", "raise decodeBytesMax");
    h.reader.stop().unwrap();
}

#[test]
fn a_writer_that_fails_or_panics_is_unhealthy_and_recovers() {
    for (refusal, reason) in [
        (
            Refusal::DiskFull,
            "the store stopped at its disk reserve (store.diskReserveBytes), 5 bytes are free",
        ),
        (Refusal::Panic, "applying a block panicked"),
    ] {
        let server = FeedServer::start(|_, _| Ok(then_hang(blocks(11..=13))));
        let sink = MemorySink::default();
        sink.refuse(Some((11, refusal)));
        let h = read_into(sink, &server, |_| {});
        h.events.wait_text("unhealthy", reason);
        assert_eq!(h.sink.slots(), [0; 0]);
        h.sink.refuse(None);
        assert_eq!(committed(&h.events.wait_committed(13)), [11, 12, 13]);
        h.reader.stop().unwrap();
    }
}

#[test]
fn endpoints_without_the_protocol_cause_failures_not_panics() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let server = FeedServer::start(|_, _| Ok(vec![status(11, SlotStatus::SlotConfirmed)]));
    let cases = [
        // The listen backlog accepts the connection and nothing answers.
        (
            format!("http://{address}"),
            "no answer to Subscribe for 300 ms",
        ),
        (
            format!("https://{address}"),
            "no connection to https://127.0.0.1",
        ),
        // TLS to a server without TLS.
        (
            format!("https://{}", server.address),
            "no connection to https://127.0.0.1",
        ),
        ("http://127.0.0.1:1".to_string(), "Connection refused"),
        ("http://no host".to_string(), "no connection"),
    ];
    for (endpoint, part) in cases {
        let h = read_from(Arc::new(MemorySink::default()), endpoint, |config| {
            config.block_silence_ms = 300;
            config.connect_timeout_ms = 300;
        });
        h.events.wait_text("disconnected", part);
        h.reader.stop().unwrap();
    }
}

#[test]
fn a_server_that_cannot_be_reached_is_left_as_soon_as_a_silent_one() {
    // The address accepts a connection and never answers its handshake.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("https://{}", silent.local_addr().unwrap());
    let h = read_from(Arc::new(MemorySink::default()), endpoint, |config| {
        config.block_silence_ms = 300;
        config.connect_timeout_ms = 200;
        config.failures_max = 1_000;
    });
    let reason = "no block for 300 ms (blockSilenceMs), the last failure: no connection to";
    h.events.wait_text("unhealthy", reason);
    h.reader.stop().unwrap();
}

#[test]
fn a_panic_in_the_listener_does_not_stop_the_reader() {
    let server = FeedServer::start(|_, _| Ok(then_hang(blocks(11..=13))));
    let sink = Arc::new(MemorySink::default());
    let config = quick(format!("http://{}", server.address));
    let reader = ingest::geyser::start(config, Arc::clone(&sink), |_| {
        std::panic::resume_unwind(Box::new("as requested"))
    })
    .unwrap();
    while sink.slots().len() < 3 {
        std::thread::sleep(Duration::from_millis(5));
    }
    reader.stop().unwrap();
    assert_eq!((sink.slots(), server.seen().len()), (vec![11, 12, 13], 1));
}
