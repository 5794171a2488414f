//! Tests of opening a source: file names, redirects and refusals.

use super::*;
use crate::archive::tests::expected;
use crate::archive::{ArchiveKind, ArchiveLimits, read_archive};

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
fn a_redirect_is_followed_and_gives_the_name() {
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

/// A server's response, the expected error text, and the number of requests.
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
            "redirects more than 5 times",
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
    for (location, expected) in [
        ("http://user:secret@127.0.0.1/x", "are not sent"),
        ("http://[secret/", "is not a URL"),
        ("http://127.0.0.1:9/x", "cannot be reached"),
    ] {
        let reason = reason(open(location));
        assert!(
            reason.contains(expected) && !reason.contains("secret"),
            "{reason}"
        );
    }
    let server = Server::start(|_, request, socket| serve(socket, request, b"x", 1));
    assert!(reason(open(&server.url("/secret.tar.zst"))).contains("is not that of a snapshot"));
}

#[test]
fn redirects_from_tls_to_plain_http_are_refused() {
    let mut headers = hyper::HeaderMap::new();
    headers.insert("location", "http://other/x".parse().unwrap());
    let from = |text: &str| http::follow(&url::Url::parse(text).unwrap(), &headers).is_ok();
    assert!(!from("https://one/y"));
    assert!(from("http://one/y"));
}

proptest::proptest! {
    #[test]
    fn any_header_is_read_or_refused(
        text in "[ -~]{0,40}|bytes [0-9]{0,21}-[0-9]{0,21}/([0-9]{0,21}|[*])|http(s)?://[ -~]{0,20}",
    ) {
        let mut headers = hyper::HeaderMap::new();
        for name in [hyper::header::CONTENT_RANGE, hyper::header::LOCATION] {
            headers.insert(name, text.parse().unwrap());
        }
        if http::content_range(&headers).is_some() {
            proptest::prop_assert!(text.starts_with("bytes "));
        }
        let from = url::Url::parse("https://archives.example/snapshot").unwrap();
        if let Ok(to) = http::follow(&from, &headers) {
            proptest::prop_assert_eq!(to.scheme(), "https");
        }
    }
}
