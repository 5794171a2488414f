use super::*;
use std::time::Duration;

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

#[test]
fn returns_every_byte_in_order_and_frees_the_budget() {
    let in_flight = InFlight::new(1 << 20);
    let (mut writer, reader) = pipe(64, soon(), Arc::clone(&in_flight));
    let producer = std::thread::spawn(move || {
        for n in 0..100u8 {
            writer.push(vec![n; 10]).unwrap();
        }
        writer.finish(Ok(()));
    });
    let mut bytes = Vec::new();
    let mut into = [0; 7];
    loop {
        match reader.read(&mut into).unwrap() {
            Read::Bytes(count) => bytes.extend_from_slice(&into[..count]),
            Read::Pending => std::thread::yield_now(),
            Read::End => break,
        }
    }
    producer.join().unwrap();
    assert_eq!(bytes, (0..100u8).flat_map(|n| [n; 10]).collect::<Vec<_>>());
    assert_eq!(in_flight.used(), 0);
}

#[test]
fn writer_fails_at_its_deadline_if_the_reader_stops() {
    let in_flight = InFlight::new(1 << 20);
    let deadline = Instant::now() + Duration::from_millis(30);
    let (mut writer, reader) = pipe(10, deadline, Arc::clone(&in_flight));
    writer.push(vec![0; 10]).unwrap();
    assert!(matches!(writer.push(vec![0; 10]), Err(Error::ReadTimeout)));
    drop(reader);
    assert_eq!(in_flight.used(), 0);
}

#[test]
fn a_chunk_counts_until_its_last_byte_is_taken() {
    let in_flight = InFlight::new(1 << 20);
    let (mut writer, reader) = pipe(100, soon(), Arc::clone(&in_flight));
    writer.push(vec![0; 10]).unwrap();
    writer.push(vec![0; 5]).unwrap();
    let used = |bytes: usize| {
        assert_eq!(
            reader.read(&mut vec![0; bytes]).unwrap(),
            Read::Bytes(bytes)
        );
        in_flight.used()
    };
    assert_eq!([used(9), used(1), used(1)], [15, 5, 5]);
    drop(reader);
    assert_eq!(in_flight.used(), 0);
}

#[test]
fn replies_over_the_budget_wait_and_then_fail() {
    let in_flight = InFlight::new(10);
    let (mut first, reader) = pipe(100, soon(), Arc::clone(&in_flight));
    first.push(vec![0; 10]).unwrap();
    let deadline = Instant::now() + Duration::from_millis(20);
    let (mut second, _reader) = pipe(100, deadline, Arc::clone(&in_flight));
    assert!(matches!(second.push(vec![0; 1]), Err(Error::Overloaded)));
    reader.close();
    assert_eq!(in_flight.used(), 0);
}

#[test]
fn half_full_pipes_do_not_block_each_other() {
    let in_flight = InFlight::new(10);
    let (mut first, first_reader) = pipe(100, soon(), Arc::clone(&in_flight));
    let (mut second, second_reader) = pipe(100, soon(), Arc::clone(&in_flight));
    let (sender, woken) = std::sync::mpsc::channel();
    first_reader.wake(move || sender.send(()).unwrap());
    first.push(vec![0; 10]).unwrap();
    let producer = std::thread::spawn(move || {
        first.push(vec![0; 1]).unwrap();
        first.finish(Ok(()));
    });
    woken.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(first_reader.read(&mut [0; 64]).unwrap(), Read::Bytes(10));
    producer.join().unwrap();
    second.push(vec![0; 1]).unwrap();
    drop(second_reader);
}

#[test]
fn a_dropped_writer_is_a_failure() {
    let (writer, reader) = pipe(100, soon(), InFlight::new(10));
    drop(writer);
    assert!(matches!(reader.failure(), Some(Error::Internal(_))));
    assert!(reader.read(&mut [0; 4]).is_err());
}

#[test]
fn chunks_pushed_together_are_queued_together_or_not_at_all() {
    let in_flight = InFlight::new(10);
    let (mut first, reader) = pipe(usize::MAX, soon(), Arc::clone(&in_flight));
    let page = || [vec![1; 9], Vec::new(), vec![2; 5]];
    first.push_all(page()).unwrap();
    assert_eq!(in_flight.used(), 14);
    let deadline = Instant::now() + Duration::from_millis(20);
    let (mut second, other) = pipe(usize::MAX, deadline, Arc::clone(&in_flight));
    let ended = second.push_all(page());
    assert!(matches!(ended, Err(Error::Overloaded)));
    second.finish(ended);
    assert!(matches!(other.failure(), Some(Error::Overloaded)));
    assert_eq!(other.bytes_left(), None);
    first.finish(Ok(()));
    assert_eq!(reader.bytes_left(), Some(14));
    let mut into = [0; 12];
    assert_eq!(reader.read(&mut into).unwrap(), Read::Bytes(12));
    assert_eq!(into, [1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2]);
    assert_eq!(in_flight.used(), 5);
    reader.close();
    assert_eq!(in_flight.used(), 0);
}
