//! Transfers from a real socket whose server does what a script says.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::bootstrap::archive::tests::{expected, sample, writer};
use crate::bootstrap::archive::{ArchiveKind, ArchiveLimits, read_archive};

const NAME: &str = "snapshot-100-5pgMpQj4MZYWauD1VnoNfmGAdUQCe6VVCSCQMNbDoxf7.tar.zst";

/// Serves one connection after another: `answer` gets the number of the request, its text and the socket.
struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(answer: impl Fn(usize, &str, &mut TcpStream) + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer) = (Arc::clone(&requests), Arc::new(answer));
        thread::spawn(move || {
            for socket in listener.incoming() {
                let (mut socket, mut head) = (socket.unwrap(), Vec::new());
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).unwrap_or(0) == 1 {
                    head.push(byte[0]);
                }
                let request = String::from_utf8(head).unwrap();
                let index = kept.lock().unwrap().len();
                kept.lock().unwrap().push(request.clone());
                let answer = Arc::clone(&answer);
                thread::spawn(move || answer(index, &request, &mut socket));
            }
        });
        Server { port, requests }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn options() -> SourceOptions {
    SourceOptions {
        connect_ms: 2_000,
        silence_ms: 400,
        attempts_max: 3,
        backoff_initial_ms: 10,
        backoff_max_ms: 50,
        ..SourceOptions::default()
    }
}

fn packed() -> Vec<u8> {
    let (bank, storages) = sample();
    zstd::encode_all(writer::archive(&bank, &storages).as_slice(), 1).unwrap()
}

fn open(url: &str) -> Result<Source> {
    open_source(url, &options(), &Arc::default())
}

fn all_of(source: Source) -> std::io::Result<Vec<u8>> {
    let (mut reader, mut bytes) = (source.reader, Vec::new());
    reader.read_to_end(&mut bytes).map(|_| bytes)
}

fn reason(result: Result<Source>) -> String {
    let error = match result.map(all_of) {
        Err(error) => error,
        Ok(read) => read.unwrap_err().downcast().unwrap(),
    };
    match error {
        Error::SnapshotTransfer(text) | Error::SnapshotInvalid(text) => text,
        other => panic!("{other}"),
    }
}

fn send(socket: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\n{headers}\r\n");
    // The client may be gone already: that is one of the cases.
    let _ = socket
        .write_all(head.as_bytes())
        .and_then(|()| socket.write_all(body));
}

/// The whole, or what a range asks for.
fn serve(socket: &mut TcpStream, request: &str, body: &[u8], sent: usize) {
    let range = request
        .lines()
        .find_map(|line| line.strip_prefix("range: bytes="));
    let start: usize = range.map_or(0, |text| text.trim_end_matches('-').parse().unwrap());
    let rest = &body[start..];
    let length = format!("content-length: {}\r\netag: \"v1\"\r\n", rest.len());
    let part = &rest[..sent.min(rest.len())];
    if range.is_none() {
        return send(socket, "200 OK", &length, part);
    }
    let range = format!(
        "content-range: bytes {start}-{}/{}\r\n",
        body.len() - 1,
        body.len()
    );
    send(socket, "206 Partial Content", &(length + &range), part);
}

#[test]
fn a_file_is_opened_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(NAME);
    std::fs::write(&path, packed()).unwrap();
    let source = open(path.to_str().unwrap()).unwrap();
    assert_eq!(
        (source.name.kind, source.name.slot),
        (ArchiveKind::Full, 100)
    );
    assert_eq!(source.bytes, Some(packed().len() as u64));
    assert_eq!(all_of(source).unwrap(), packed());
    assert!(reason(open(dir.path().to_str().unwrap())).contains("is a folder"));
    let absent = reason(open(dir.path().join("a").to_str().unwrap()));
    assert!(absent.starts_with("\"a\" cannot be opened"), "{absent}");
}

#[test]
fn a_redirect_is_followed_and_its_name_counts() {
    let server = Server::start(|_, request, socket| match request.split(' ').nth(1) {
        Some("/snapshot.tar.bz2") => {
            let location = format!("location: /files/{NAME}?key=1\r\ncontent-length: 0\r\n");
            send(socket, "303 See Other", &location, &[]);
        }
        _ => serve(socket, request, &packed(), usize::MAX),
    });
    let source = open(&server.url("/snapshot.tar.bz2")).unwrap();
    assert_eq!(
        (source.name.slot, source.bytes),
        (100, Some(packed().len() as u64))
    );
    let (progress, mut shown) = (Progress::default(), 0);
    let end = read_archive(
        source.reader,
        &ArchiveLimits::default(),
        &progress,
        &mut |_| {
            shown += 1;
            Ok(())
        },
    );
    assert_eq!(end.unwrap().entries, expected(&sample().1).len() as u64);
    assert_eq!(progress.bytes_read.into_inner(), packed().len() as u64);
    assert!(server.requests()[1].starts_with(&format!("GET /files/{NAME}?key=1 HTTP/1.1")));
}

#[test]
fn a_broken_transfer_goes_on_where_it_broke_off() {
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
    let begun = Instant::now();
    assert_eq!(
        all_of(open(&server.url(&format!("/{NAME}"))).unwrap()).unwrap(),
        packed()
    );
    assert!(begun.elapsed() < Duration::from_secs(3));
}

#[test]
fn tries_have_an_end() {
    let server = Server::start(|_, request, socket| serve(socket, request, &packed(), 10));
    let reason = reason(open(&server.url(&format!("/{NAME}"))));
    assert!(
        reason.contains("it breaks off") && reason.contains("3 tries, 30 bytes"),
        "{reason}"
    );
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn what_is_worthwhile_is_an_option() {
    let body = packed();
    let served = body.clone();
    let server = Server::start(move |_, request, socket| serve(socket, request, &served, 500));
    let patient = SourceOptions {
        worthwhile_bytes: 500,
        attempts_max: 2,
        ..options()
    };
    let place = server.url(&format!("/{NAME}"));
    let source = open_source(&place, &patient, &Arc::default()).unwrap();
    assert_eq!(all_of(source).unwrap(), body);
    assert!(server.requests().len() > 2);
}

/// A server that is faster than its reader is not read to its end.
#[test]
fn no_more_is_fetched_ahead_than_is_said() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let server = Server::start(move |_, _, socket| {
        let piece = vec![7; 64 << 10];
        let head = "content-length: 1073741824\r\n";
        send(socket, "200 OK", head, &[]);
        while socket.write_all(&piece).is_ok() {
            counted.fetch_add(piece.len(), Ordering::Relaxed);
        }
    });
    let narrow = SourceOptions {
        ahead_bytes_max: READ_BYTES as u64,
        ..options()
    };
    let place = server.url(&format!("/{NAME}"));
    let source = open_source(&place, &narrow, &Arc::default()).unwrap();
    thread::sleep(Duration::from_millis(300));
    // Sockets hold some MB on both sides.
    let ahead = sent.load(Ordering::Relaxed);
    assert!(ahead < 32 << 20, "{ahead}");
    drop(source);
}

#[test]
fn a_pause_is_made_where_the_server_asks() {
    let server = Server::start(|index, request, socket| match index {
        0 => send(
            socket,
            "503 Busy",
            "retry-after: 1\r\ncontent-length: 0\r\n",
            &[],
        ),
        _ => serve(socket, request, &packed(), usize::MAX),
    });
    let (begun, longest) = (
        Instant::now(),
        SourceOptions {
            backoff_max_ms: 2_000,
            ..options()
        },
    );
    let place = server.url(&format!("/{NAME}"));
    let source = open_source(&place, &longest, &Arc::default()).unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(all_of(source).unwrap(), packed());
}

/// What a server may answer, what is said of it, and how often it is asked.
#[test]
fn each_refusal_is_named_without_the_address() {
    let length = "content-length: 0\r\n";
    let moved = |to: &str| format!("{length}location: {to}\r\n");
    let cases: [(&str, String, &str, usize); 6] = [
        ("404 Not Found", length.into(), "it answers 404", 1),
        ("500 Broken", length.into(), "it answers 500", 3),
        (
            "302 Found",
            moved("/secret/again"),
            "redirects more than 5 times (bootstrap.archive.redirectsMax)",
            6,
        ),
        ("302 Found", length.into(), "redirects to no address", 1),
        ("302 Found", moved("ftp://x/"), "redirects to no address", 1),
        ("206 Partial Content", length.into(), "it answers 206", 1),
    ];
    for (status, headers, expected, count) in cases {
        let server = Server::start(move |_, _, socket| send(socket, status, &headers, &[]));
        let reason = reason(open(&server.url(&format!("/secret/{NAME}?api-key=secret"))));
        assert!(reason.contains(expected), "{expected}: {reason}");
        assert!(
            reason.starts_with("127.0.0.1:") && !reason.contains("secret"),
            "{reason}"
        );
        assert_eq!(server.requests().len(), count, "{expected}");
    }
    for (place, expected) in [
        ("http://user:secret@127.0.0.1/x", "are not sent"),
        ("http://[secret/", "is not a URL"),
        ("http://127.0.0.1:9/x", "cannot be reached"),
    ] {
        let reason = reason(open(place));
        assert!(
            reason.contains(expected) && !reason.contains("secret"),
            "{reason}"
        );
    }
    let server = Server::start(|_, request, socket| serve(socket, request, b"x", 1));
    assert!(reason(open(&server.url("/secret.tar.zst"))).contains("is not that of a snapshot"));
}

#[test]
fn what_changed_is_not_joined() {
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
fn a_length_need_not_be_told() {
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
fn who_is_told_to_stop_stops_while_it_waits() {
    let server = Server::start(|_, request, socket| {
        serve(socket, request, &packed(), 1_000);
        thread::sleep(Duration::from_secs(10));
    });
    let patient = SourceOptions {
        silence_ms: 60_000,
        ..options()
    };
    let progress = Arc::new(Progress::default());
    let place = server.url(&format!("/{NAME}"));
    let source = open_source(&place, &patient, &progress).unwrap();
    let begun = Instant::now();
    let watcher = Arc::clone(&progress);
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        watcher.cancel();
    });
    let limits = ArchiveLimits::default();
    let ended = read_archive(source.reader, &limits, &progress, &mut |_| Ok(()));
    assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
    assert!(begun.elapsed() < Duration::from_secs(2));
}

#[test]
fn no_redirect_leaves_tls() {
    let mut headers = hyper::HeaderMap::new();
    headers.insert("location", "http://other/x".parse().unwrap());
    let from = |text: &str| http::follow(&url::Url::parse(text).unwrap(), &headers).is_ok();
    assert!(!from("https://one/y"));
    assert!(from("http://one/y"));
}

#[test]
fn who_is_told_to_stop_stops_while_it_connects() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("https://{}/{NAME}", silent.local_addr().unwrap());
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
    let begun = Instant::now();
    let ended = open_source(&place, &patient, &progress).err();
    assert!(matches!(ended, Some(Error::Cancelled)), "{ended:?}");
    assert!(begun.elapsed() < Duration::from_secs(2));
}
