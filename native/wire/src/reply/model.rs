//! The pipe under a scheduler that tries the orders of its steps. No wait of its ends by time, so a
//! wake-up that is lost is a deadlock, which the scheduler reports.

use shuttle::sync::mpsc::channel;
use shuttle::{check_pct, check_random, thread};

use super::*;

const RUNS: usize = 10_000;
const QUEUE_MAX: usize = 4;

fn check(run: fn()) {
    check_random(run, RUNS);
    check_pct(run, RUNS, 3);
}

fn open(in_flight: &Arc<InFlight>) -> (ReplyWriter, ReplyReader) {
    let deadline = Instant::now() + Duration::from_secs(3_600);
    pipe(QUEUE_MAX, deadline, in_flight, Some("a".into()))
}

/// Reads as the event loop does: it asks to be woken where there is nothing, and reads again.
/// Returns the bytes that it got before the end, and whether that was a success.
fn read_all(reader: &ReplyReader, bytes_max: usize) -> (Vec<u8>, bool) {
    let mut all = Vec::new();
    let mut into = [0; 3];
    while all.len() < bytes_max {
        match reader.read(&mut into) {
            Ok(Read::Bytes(count)) => all.extend_from_slice(&into[..count]),
            Ok(Read::End) => return (all, true),
            Ok(Read::Pending) => {
                let (sender, woken) = channel();
                reader.wake(move || sender.send(()).unwrap());
                woken.recv().unwrap();
            }
            Err(_) => return (all, false),
        }
    }
    (all, false)
}

#[test]
fn a_reader_gets_each_byte_in_order_and_is_always_woken() {
    check(|| {
        let in_flight = InFlight::new(64);
        let (mut writer, reader) = open(&in_flight);
        let producer = thread::spawn(move || {
            for byte in 0..5 {
                writer.push(vec![byte; 2], None).unwrap();
            }
            writer.finish(Ok(()));
        });
        let (bytes, is_success) = read_all(&reader, usize::MAX);
        producer.join().unwrap();
        assert_eq!(bytes, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
        assert!(is_success);
        assert_eq!(in_flight.used(), 0);
    });
}

#[test]
fn a_reader_that_leaves_ends_its_writer_at_any_step() {
    check(|| {
        let in_flight = InFlight::new(64);
        let (mut writer, reader) = open(&in_flight);
        let producer = thread::spawn(move || {
            let pushed = (0..5).try_for_each(|byte| writer.push(vec![byte; 2], None));
            writer.finish(pushed);
        });
        read_all(&reader, 2);
        drop(reader);
        producer.join().unwrap();
        assert_eq!(in_flight.used(), 0);
    });
}

/// Two replies of one owner, for whose bytes together there is no room.
#[test]
fn replies_that_wait_for_room_all_end() {
    check(|| {
        let in_flight = InFlight::new(12);
        let ends: Vec<_> = (0..2)
            .map(|_| {
                let (mut writer, reader) = open(&in_flight);
                let producer = thread::spawn(move || {
                    let pushed = (0..3).try_for_each(|byte| writer.push(vec![byte; 2], None));
                    let is_success = pushed.is_ok();
                    writer.finish(pushed);
                    is_success
                });
                let consumer = thread::spawn(move || read_all(&reader, usize::MAX).1);
                (producer, consumer)
            })
            .collect();
        for (producer, consumer) in ends {
            assert_eq!(producer.join().unwrap(), consumer.join().unwrap());
        }
        assert_eq!(in_flight.used(), 0);
    });
}

/// A writer that is dropped in the middle is a failure for a reader that waits.
#[test]
fn a_writer_that_is_dropped_wakes_its_reader() {
    check(|| {
        let in_flight = InFlight::new(64);
        let (mut writer, reader) = open(&in_flight);
        let producer = thread::spawn(move || drop(writer.push(vec![1], None)));
        let (bytes, is_success) = read_all(&reader, usize::MAX);
        producer.join().unwrap();
        assert_eq!((bytes, is_success), (vec![1], false));
        assert_eq!(in_flight.used(), 0);
    });
}
