//! Test of the reader with a recorded stream.

use ingest::geyser::Transactions;

use crate::capture::Capture;
use crate::chain::then_hang;
use crate::harness::*;
use crate::server::{FeedServer, Step};

#[test]
fn a_recorded_stream_ends_at_its_newest_confirmed_block() {
    let Some(capture) = Capture::read() else {
        return;
    };
    let updates = capture.updates.clone();
    let server = FeedServer::start(move |_, _| {
        let steps = updates
            .iter()
            .map(|update| Step::Send(Box::new(update.clone())));
        Ok(then_hang(steps.collect()))
    });
    let h = read(&server, |config| {
        // With a start slot, the reader treats the stream's first slot as complete.
        config.start_slot = Some(1);
        config.transactions = Transactions::LogsAndVotes;
    });
    h.events.wait_committed(*capture.chain.last().unwrap());
    h.reader.stop().unwrap();
    assert_eq!(server.seen().len(), 1, "one stream brought it all");
    let blocks = h.sink.blocks.lock().unwrap();
    capture.assert_is(&blocks);
}
