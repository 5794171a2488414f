//! Tests of transfers that break, hang, change or are cancelled.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::archive::{ArchiveLimits, read_archive};

#[test]
fn a_broken_transfer_resumes_at_its_offset() {
    let body = packed();
    let sizes = [200, 300, usize::MAX];
    let served = body.clone();
    let server = Server::start(move |index, request, socket| {
        serve(socket, request, &served, sizes[index]);
    });
    assert_eq!(
        all_of(open(&server.url(&format!("/{NAME}"))).unwrap()).unwrap(),
        body
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(!requests[0].contains("range:"));
    assert!(
        requests[1].contains("range: bytes=200-\r\n"),
        "{}",
        requests[1]
    );
    assert!(
        requests[1].contains("if-range: \"v1\"\r\n"),
        "{}",
        requests[1]
    );
    assert!(
        requests[2].contains("range: bytes=500-\r\n"),
        "{}",
        requests[2]
    );
}

#[test]
fn a_silent_transfer_counts_as_broken() {
    let server = Server::start(|index, request, socket| match index {
        0 => {
            serve(socket, request, &packed(), 1_000);
            thread::sleep(Duration::from_secs(5));
        }
        _ => serve(socket, request, &packed(), usize::MAX),
    });
    let start = Instant::now();
    assert_eq!(
        all_of(open(&server.url(&format!("/{NAME}"))).unwrap()).unwrap(),
        packed()
    );
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[test]
fn attempts_are_bounded() {
    let server = Server::start(|_, request, socket| serve(socket, request, &packed(), 10));
    let reason = reason(open(&server.url(&format!("/{NAME}"))));
    assert!(
        reason.contains("it breaks off") && reason.contains("3 tries, 30 bytes"),
        "{reason}"
    );
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn the_worthwhile_bytes_are_an_option() {
    let body = packed();
    let served = body.clone();
    let server = Server::start(move |_, request, socket| serve(socket, request, &served, 500));
    let patient = SourceOptions {
        worthwhile_bytes: 500,
        attempts_max: 2,
        ..options()
    };
    let location = server.url(&format!("/{NAME}"));
    let source = open_source(&location, &patient, &Arc::default()).unwrap();
    assert_eq!(all_of(source).unwrap(), body);
    assert!(server.requests().len() > 2);
}

/// A slow reader limits how much is read from a fast server.
#[test]
fn read_ahead_is_bounded() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let server = Server::start(move |_, _, socket| {
        let chunk = vec![7; 64 << 10];
        let head = "content-length: 1073741824\r\n";
        send(socket, "200 OK", head, &[]);
        while socket.write_all(&chunk).is_ok() {
            counted.fetch_add(chunk.len(), Ordering::Relaxed);
        }
    });
    let narrow = SourceOptions {
        ahead_bytes_max: READ_BYTES as u64,
        ..options()
    };
    let location = server.url(&format!("/{NAME}"));
    let source = open_source(&location, &narrow, &Arc::default()).unwrap();
    thread::sleep(Duration::from_millis(300));
    // The sockets buffer a few MB on both sides.
    let ahead = sent.load(Ordering::Relaxed);
    assert!(ahead < 32 << 20, "{ahead}");
    drop(source);
}

#[test]
fn a_retry_waits_as_the_server_asks() {
    let server = Server::start(|index, request, socket| match index {
        0 => send(
            socket,
            "503 Busy",
            "retry-after: 1\r\ncontent-length: 0\r\n",
            &[],
        ),
        _ => serve(socket, request, &packed(), usize::MAX),
    });
    let (start, longest) = (
        Instant::now(),
        SourceOptions {
            backoff_max_ms: 2_000,
            ..options()
        },
    );
    let location = server.url(&format!("/{NAME}"));
    let source = open_source(&location, &longest, &Arc::default()).unwrap();
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert_eq!(all_of(source).unwrap(), packed());
}

#[test]
fn a_changed_file_is_not_joined() {
    let range = "content-range: bytes 7-9/99\r\n";
    let cases = [
        (
            "200 OK",
            "content-length: 5\r\n".to_owned(),
            "does not send the rest",
        ),
        (
            "206 Partial Content",
            format!("content-length: 5\r\n{range}"),
            "another range",
        ),
        (
            "206 Partial Content",
            "content-length: 5\r\n".into(),
            "without saying which",
        ),
        (
            "416 Not Satisfiable",
            "content-length: 0\r\n".into(),
            "it answers 416",
        ),
    ];
    for (status, headers, expected) in cases {
        let server = Server::start(move |index, request, socket| match index {
            0 => serve(socket, request, &packed(), 1_000),
            _ => send(socket, status, &headers, b"12345"),
        });
        let reason = reason(open(&server.url(&format!("/{NAME}"))));
        assert!(reason.contains(expected), "{expected}: {reason}");
        assert_eq!(server.requests().len(), 2);
    }
}

#[test]
fn a_length_is_optional() {
    let server = Server::start(|_, _, socket| {
        let body = packed();
        let chunks: Vec<u8> = body
            .chunks(5_000)
            .flat_map(|part| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat())
            .collect();
        let body = [&chunks[..], b"0\r\n\r\n"].concat();
        send(socket, "200 OK", "transfer-encoding: chunked\r\n", &body);
    });
    let source = open(&server.url(&format!("/{NAME}"))).unwrap();
    assert_eq!(source.bytes, None);
    assert_eq!(all_of(source).unwrap(), packed());
}

#[test]
fn a_cancelled_transfer_stops_while_it_waits() {
    let server = Server::start(|_, request, socket| {
        serve(socket, request, &packed(), 1_000);
        thread::sleep(Duration::from_secs(10));
    });
    let patient = SourceOptions {
        silence_ms: 60_000,
        ..options()
    };
    let progress = Arc::new(Progress::default());
    let location = server.url(&format!("/{NAME}"));
    let source = open_source(&location, &patient, &progress).unwrap();
    let start = Instant::now();
    let watcher = Arc::clone(&progress);
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        watcher.cancel();
    });
    let limits = ArchiveLimits::default();
    let ended = read_archive(source.reader, &limits, &progress, &mut |_| Ok(()));
    assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_cancelled_transfer_stops_while_it_connects() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let location = format!("https://{}/{NAME}", silent.local_addr().unwrap());
    let patient = SourceOptions {
        connect_ms: 10_000,
        ..options()
    };
    let progress = Arc::new(Progress::default());
    let watcher = Arc::clone(&progress);
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        watcher.cancel();
    });
    let start = Instant::now();
    let ended = open_source(&location, &patient, &progress).err();
    assert!(matches!(ended, Some(Error::Cancelled)), "{ended:?}");
    assert!(start.elapsed() < Duration::from_secs(2));
}
