//! Tests of a writer with a backlog: group commits and failures within a group.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ingest::geyser::{Event, GeyserConfig};

use crate::chain::*;
use crate::harness::*;
use crate::server::FeedServer;

/// A reader whose writer is blocked until slots 11 to `last` have arrived. The first commit
/// contains slot 11 alone, because the feed sends the others later.
fn behind(
    last: u64,
    prepare: impl FnOnce(&MemorySink),
    change: impl FnOnce(&mut GeyserConfig),
) -> (FeedServer, Harness<MemorySink>) {
    let server = FeedServer::start(move |_, index| {
        let mut steps = block(11);
        if index == 0 {
            steps.push(crate::server::Step::Pause(Duration::from_millis(200)));
        }
        steps.extend(blocks(12..=last));
        Ok(then_hang(steps))
    });
    let sink = MemorySink::default();
    sink.hold(true);
    prepare(&sink);
    let h = read_into(sink, &server, change);
    while h.sink.applies_begun.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    // The queue's content is not observable, so wait for a fixed time.
    std::thread::sleep(Duration::from_millis(600));
    (server, h)
}

fn apply_micros(events: &[Event]) -> Vec<u64> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Committed { apply_micros, .. } => Some(*apply_micros),
            _ => None,
        })
        .collect()
}

#[test]
fn queued_blocks_are_committed_in_groups_with_one_event_per_block() {
    let (server, h) = behind(20, |_| {}, |config| config.group_blocks_max = 4);
    h.sink.hold(false);
    let events = h.events.wait_committed(20);
    assert_eq!(committed(&events), (11..=20).collect::<Vec<_>>());
    let tried = h.sink.tried.lock().unwrap().clone();
    assert_eq!(
        tried,
        [
            vec![11],
            vec![12, 13, 14, 15],
            vec![16, 17, 18, 19],
            vec![20]
        ]
    );
    let micros = apply_micros(&events);
    assert_eq!(micros[1..5], [micros[1]; 4], "a group shares its time");
    assert!(
        micros[0] >= 500_000,
        "the first one was applied alone: {micros:?}"
    );
    assert_eq!(server.seen().len(), 1);
    h.reader.stop().unwrap();
}

#[test]
fn a_group_is_limited_by_bytes() {
    let (_server, h) = behind(14, |_| {}, |config| config.group_bytes_max = 1);
    h.sink.hold(false);
    h.events.wait_committed(14);
    let tried = h.sink.tried.lock().unwrap().clone();
    assert_eq!(tried, [[11], [12], [13], [14]]);
    h.reader.stop().unwrap();
}

#[test]
fn blocks_before_a_failed_block_are_kept_and_its_error_is_reported() {
    let cases = [
        (
            Refusal::DiskFull,
            "unhealthy",
            "the store stopped at its disk reserve (store.diskReserveBytes), 5 bytes are free",
        ),
        (Refusal::Panic, "unhealthy", "applying a block panicked"),
        (
            Refusal::OtherTip,
            "gap",
            "gap after slot 13: the feed gave slot 14, which follows another block (slot 13)",
        ),
    ];
    for (refusal, kind, text) in cases {
        let (server, h) = behind(16, |sink| sink.refuse(Some((14, refusal))), |_| {});
        h.sink.hold(false);
        h.events.wait_text(kind, text);
        assert_eq!(h.sink.slots(), [11, 12, 13]);
        assert_eq!(committed(&h.events.all()), [11, 12, 13]);
        let tried = h.sink.tried.lock().unwrap()[..5].to_vec();
        assert_eq!(
            tried,
            [
                vec![11],
                vec![12, 13, 14, 15, 16],
                vec![12],
                vec![13],
                vec![14]
            ]
        );
        h.sink.refuse(None);
        assert_eq!(
            committed(&h.events.wait_committed(16)),
            (11..=16).collect::<Vec<_>>()
        );
        assert_eq!(server.asked_slots()[..2], [Some(11), Some(13)]);
        h.reader.stop().unwrap();
    }
}

#[test]
fn stop_drops_queued_blocks() {
    let (_server, h) = behind(16, |_| {}, |_| {});
    let sink = Arc::clone(&h.sink);
    let release = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        sink.hold(false);
    });
    h.reader.stop().unwrap();
    assert_eq!(h.sink.slots(), [11]);
    release.join().unwrap();
}

#[test]
fn stop_finishes_the_current_group_without_retrying_it() {
    for (refusal, slots) in [
        (None, vec![11, 12, 13, 14]),
        (Some((14, Refusal::DiskFull)), vec![11]),
    ] {
        let (_server, h) = behind(14, |sink| sink.refuse(refusal), |_| {});
        h.sink.let_pass(Some(1));
        while h.sink.applies_begun.load(Ordering::Relaxed) < 2 {
            std::thread::yield_now();
        }
        let sink = Arc::clone(&h.sink);
        let release = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            sink.hold(false);
        });
        h.reader.stop().unwrap();
        assert_eq!(h.sink.slots(), slots);
        release.join().unwrap();
    }
}

#[test]
fn work_between_commits_goes_on_while_no_block_waits() {
    let server = FeedServer::start(|_, _| Ok(then_hang(block(11))));
    let sink = MemorySink::default();
    sink.untidy.store(5, Ordering::Relaxed);
    let h = read_into(sink, &server, |_| {});
    h.events.wait_committed(11);
    while h.sink.untidy.load(Ordering::Relaxed) > 0 {
        std::thread::yield_now();
    }
    assert_eq!(h.sink.tidied.load(Ordering::Relaxed), 5);
    h.reader.stop().unwrap();
}

#[test]
fn work_between_commits_never_ends_and_delays_no_block() {
    let prepare = |sink: &MemorySink| sink.untidy.store(usize::MAX, Ordering::Relaxed);
    let (_server, h) = behind(20, prepare, |config| config.group_blocks_max = 1);
    h.sink.hold(false);
    let events = h.events.wait_committed(20);
    assert_eq!(committed(&events), (11..=20).collect::<Vec<_>>());
    assert!(
        h.sink.tidied.load(Ordering::Relaxed) >= 9,
        "once after each commit"
    );
    h.reader.stop().unwrap();
}
