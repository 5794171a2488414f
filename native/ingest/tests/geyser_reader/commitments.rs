//! The statuses of a block, in the orders of Alpenglow and of TowerBFT.

use std::time::Duration;

use yellowstone_grpc_proto::geyser::SlotStatus;

use crate::chain::*;
use crate::harness::*;
use crate::server::{FeedServer, Step};

#[test]
fn a_block_is_final_with_the_statuses_that_arrive_with_it() {
    const CONFIRMED: SlotStatus = SlotStatus::SlotConfirmed;
    const FINALIZED: SlotStatus = SlotStatus::SlotFinalized;
    let orders: [(&str, &[SlotStatus]); 4] = [
        ("confirmed first", &[CONFIRMED, FINALIZED]),
        ("finalized first", &[FINALIZED, CONFIRMED]),
        ("finalized only", &[FINALIZED]),
        ("both twice", &[CONFIRMED, CONFIRMED, FINALIZED, FINALIZED]),
    ];
    for (name, statuses) in orders {
        let server = FeedServer::start(move |_, _| {
            let mut steps = Vec::new();
            for slot in 11..=20 {
                steps.extend([account(slot, 8), meta(slot)]);
                steps.extend(statuses.iter().map(|level| status(slot, *level)));
                steps.push(Step::Pause(Duration::from_millis(5)));
            }
            Ok(then_hang(steps))
        });
        let h = read(&server, |_| {});
        h.events.wait_committed(20);
        let roots: Vec<_> = h.sink.blocks().iter().map(|block| block.root).collect();
        assert_eq!(roots, (11..=20).map(Some).collect::<Vec<_>>(), "{name}");
        h.reader.stop().unwrap();
    }
}

#[test]
fn finality_that_comes_later_is_known_with_the_next_block() {
    for later in [1, 32] {
        let server = FeedServer::start(move |_, _| {
            let mut steps = Vec::new();
            for slot in 11..=60 {
                steps.extend(block(slot));
                if slot >= 11 + later {
                    steps.push(Step::Pause(Duration::from_millis(1)));
                    steps.push(status(slot - later, SlotStatus::SlotFinalized));
                }
            }
            Ok(then_hang(steps))
        });
        let h = read(&server, |_| {});
        h.events.wait_committed(60);
        for block in h.sink.blocks() {
            // That of the block before, or the one that came in time with this block.
            let known = block.slot.checked_sub(later).filter(|root| *root >= 11);
            let before = known.map(|root| root - 1).filter(|root| *root >= 11);
            assert!(
                block.root == known || block.root == before,
                "{:?} at slot {}, {later} slots later",
                block.root,
                block.slot
            );
        }
        h.reader.stop().unwrap();
    }
}
