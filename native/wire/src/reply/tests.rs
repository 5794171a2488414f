use super::*;
use std::time::Duration;

fn owner(name: &str) -> Owner {
    Some(name.into())
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(5)
}

#[test]
fn returns_every_byte_in_order_and_frees_the_budget() {
    let in_flight = InFlight::new(1 << 20);
    let (mut writer, reader) = pipe(64, soon(), &in_flight, None);
    let producer = std::thread::spawn(move || {
        for n in 0..100u8 {
            writer.push(vec![n; 10], None).unwrap();
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
    let (mut writer, reader) = pipe(10, deadline, &in_flight, None);
    writer.push(vec![0; 10], None).unwrap();
    assert!(matches!(
        writer.push(vec![0; 10], None),
        Err(Error::ReadTimeout)
    ));
    drop(reader);
    assert_eq!(in_flight.used(), 0);
}

#[test]
fn a_chunk_counts_until_its_last_byte_is_taken() {
    let in_flight = InFlight::new(1 << 20);
    let (mut writer, reader) = pipe(100, soon(), &in_flight, None);
    writer.push(vec![0; 10], None).unwrap();
    writer.push(vec![0; 5], None).unwrap();
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
fn a_reply_without_room_is_refused_at_once() {
    let in_flight = InFlight::new(20);
    let (mut first, reader) = pipe(100, soon(), &in_flight, owner("a"));
    first.push(vec![0; 10], None).unwrap();
    let began = Instant::now();
    let (mut second, other) = pipe(100, soon(), &in_flight, owner("a"));
    let ended = second.push(vec![0; 1], None);
    assert!(matches!(ended, Err(Error::Overloaded)));
    let (sender, woken) = std::sync::mpsc::channel();
    other.wake(move || sender.send(()).unwrap());
    assert!(
        woken.try_recv().is_err(),
        "nothing to read, and no failure yet"
    );
    second.finish(ended);
    woken.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(matches!(other.failure(), Some(Error::Overloaded)));
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "it has not waited"
    );
    assert!(!in_flight.has_room(&owner("a")) && in_flight.has_room(&owner("b")));
    assert_eq!(in_flight.refused_count(), 2);
    reader.close();
    assert_eq!(in_flight.used(), 0);
}

#[test]
fn an_owner_takes_no_more_than_it_leaves_free() {
    let in_flight = InFlight::new(120);
    let take = |name, bytes: usize| {
        let (mut writer, reader) = pipe(1_000, soon(), &in_flight, owner(name));
        writer.push(vec![0; bytes], None).map(|()| reader)
    };
    let first = take("a", 60).unwrap();
    assert!(take("a", 1).is_err(), "half, alone");
    let _second = take("b", 30).unwrap();
    assert!(take("b", 1).is_err());
    let _third = take("c", 15).unwrap();
    assert_eq!(in_flight.used(), 105);
    drop(first);
    let _fourth = take("b", 15).unwrap();
    assert_eq!(in_flight.used(), 60);
}

/// A reader of the first reply, whose other replies use up the owner's part, gets chunk by chunk.
#[test]
fn a_reply_that_was_begun_goes_on_without_room() {
    let in_flight = InFlight::new(40);
    let (mut begun, reader) = pipe(100, soon(), &in_flight, owner("a"));
    begun.push(vec![0; 5], None).unwrap();
    let (mut other, _kept) = pipe(100, soon(), &in_flight, owner("a"));
    other.push(vec![0; 15], None).unwrap();
    let (sender, woken) = std::sync::mpsc::channel();
    reader.wake(move || sender.send(()).unwrap());
    let producer = std::thread::spawn(move || {
        for _ in 0..20 {
            begun.push(vec![1; 10], None).unwrap();
        }
        begun.finish(Ok(()));
    });
    woken.recv_timeout(Duration::from_secs(5)).unwrap();
    let mut count = 0;
    let mut into = [0; 64];
    loop {
        match reader.read(&mut into).unwrap() {
            Read::Bytes(bytes) => count += bytes,
            Read::Pending => std::thread::yield_now(),
            Read::End => break,
        }
        assert!(in_flight.used() <= 15 + 10 + 5, "one chunk beyond");
    }
    producer.join().unwrap();
    assert_eq!(count, 205);
}

/// Whatever a writer and its reader do, the budget counts what is in memory and ends at zero.
#[test]
fn every_order_of_steps_returns_the_budget_to_zero() {
    let mut seed = 7u64;
    let mut next = |count: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % count
    };
    for _ in 0..2_000 {
        let in_flight = InFlight::new(64);
        let deadline = Instant::now();
        let mut pipes: Vec<_> = (0..4)
            .map(|n| {
                let (writer, reader) = pipe(16, deadline, &in_flight, owner(["a", "b"][n % 2]));
                (Some(writer), reader, Vec::new())
            })
            .collect();
        for _ in 0..30 {
            let (writer, reader, reserved) = &mut pipes[next(4) as usize];
            let bytes = next(9) as usize;
            match (next(7), writer.as_mut()) {
                (0, Some(writer)) => drop(writer.push(vec![0; bytes], None)),
                (1, Some(writer)) => reserved.extend(writer.reserve(vec![0; bytes])),
                (2, Some(writer)) => drop(writer.queue_all(std::mem::take(reserved))),
                (3, Some(_)) if bytes == 0 => drop(writer.take()),
                (3, Some(_)) if bytes == 1 => writer.take().unwrap().finish(Ok(())),
                (4, _) if bytes == 0 => reader.close(),
                _ => drop(reader.read(&mut vec![0; bytes])),
            }
            assert!(
                in_flight.used() <= 64 + 4 * 8,
                "the bound, and a chunk for each"
            );
        }
        drop(pipes);
        assert_eq!(in_flight.used(), 0);
    }
}

#[test]
fn a_dropped_writer_is_a_failure() {
    let (writer, reader) = pipe(100, soon(), &InFlight::new(10), None);
    drop(writer);
    assert!(matches!(reader.failure(), Some(Error::Internal(_))));
    assert!(reader.read(&mut [0; 4]).is_err());
}

#[test]
fn chunks_of_a_page_are_queued_together_or_not_at_all() {
    let in_flight = InFlight::new(40);
    let send = || {
        let (mut writer, reader) = pipe(usize::MAX, soon(), &in_flight, owner("a"));
        let page = [vec![1; 9], Vec::new(), vec![2; 5]].into_iter();
        let chunks = page
            .map(|chunk| writer.reserve(chunk))
            .collect::<Result<Vec<_>>>();
        let ended = chunks.and_then(|chunks| writer.queue_all(chunks));
        writer.finish(ended);
        reader
    };
    let reader = send();
    assert_eq!(in_flight.used(), 14);
    let other = send();
    assert_eq!(in_flight.used(), 14, "what was reserved is free again");
    assert!(matches!(other.failure(), Some(Error::Overloaded)));
    assert_eq!(other.bytes_left(), None);
    assert_eq!(reader.bytes_left(), Some(14));
    let mut into = [0; 12];
    assert_eq!(reader.read(&mut into).unwrap(), Read::Bytes(12));
    assert_eq!(into, [1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2]);
    assert_eq!(in_flight.used(), 5);
    reader.close();
    assert_eq!(in_flight.used(), 0);
}

/// A pool of one thread, which waits for a client that does not read.
#[test]
fn a_thread_that_waits_for_a_reader_yields_to_another_owner() {
    for has_room in [true, false] {
        let options = sys::pool::Options {
            threads: 1,
            niceness: 0,
            queue_max: 8,
            share: sys::pool::Share::Dynamic,
        };
        let pool = sys::pool::Pool::new("test", options).unwrap();
        let in_flight = InFlight::new(if has_room { 1 << 20 } else { 64 });
        let (mut writer, reader) = pipe(20, soon(), &in_flight, owner("a"));
        let (sender, woken) = std::sync::mpsc::channel();
        reader.wake(move || sender.send(()).unwrap());
        pool.submit_for(owner("a"), move |turn| {
            let ended = (0..10).try_for_each(|_| writer.push(vec![0; 10], Some(turn)));
            writer.finish(ended);
        })
        .unwrap();
        woken.recv_timeout(Duration::from_secs(5)).unwrap();
        assert_eq!(reader.bytes_left(), None, "it waits");
        let (sender, ran) = std::sync::mpsc::channel();
        pool.submit_for(owner("b"), move |_| sender.send(()).unwrap())
            .unwrap();
        ran.recv_timeout(Duration::from_secs(2)).unwrap();
        if has_room {
            assert_eq!(reader.bytes_left(), Some(100), "made ahead of its reader");
        } else {
            assert!(matches!(reader.failure(), Some(Error::Overloaded)));
        }
        drop(reader);
        assert_eq!(in_flight.used(), 0);
    }
}
