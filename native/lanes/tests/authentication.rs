//! How lanes introduce themselves otherwise than by a name in a certificate, and answers that have
//! a length of their own.

#[allow(dead_code, reason = "the other tests use the rest")]
mod peer;

use std::sync::Arc;
use std::time::Duration;

use lanes::{End, Greeting, Head, Identity, Lane, Sent};
use peer::{MANY, accept, certificate_of, listen, listen_as, options, port_of, send, until};
use quinn::rustls::RootCertStore;
use quinn::{Connection, Endpoint, VarInt};

/// Answers the next greeting, and returns it.
async fn answer_greeting(endpoint: &Endpoint, answer: &[u8]) -> (Connection, Vec<u8>) {
    let connection = accept(endpoint).await;
    let (mut answers, mut stream) = connection.accept_bi().await.unwrap();
    let greeting = stream.read_to_end(256).await.unwrap();
    answers.write_all(answer).await.unwrap();
    answers.finish().unwrap();
    (connection, greeting)
}

fn greeted(port: u16, bytes: &[u8], is_answered: bool) -> lanes::Options {
    let mut options = options(port);
    options.identity = Identity::Anonymous;
    options.greeting = Some(Greeting {
        bytes: bytes.to_vec(),
        is_answered,
    });
    options
}

#[tokio::test]
async fn a_lane_is_up_once_its_key_is_known() {
    // As NextBlock: the key on a stream, a zero, and then one-way streams.
    let endpoint = listen(0, MANY).await;
    let mut options = greeted(port_of(&endpoint), b"key", true);
    options.protocol = b"nb-tx/1".to_vec();
    options.is_answered = false;
    let lane = Lane::open(options).unwrap();
    // Refused, answered with nothing, and closed.
    for answer in [&[7u8][..], &[]] {
        let (_refused, greeting) = answer_greeting(&endpoint, answer).await;
        assert_eq!(greeting, b"key");
        let state = until(&lane, |state| !state.reason.is_empty()).await;
        assert!(!state.is_connected);
    }
    assert!(matches!(send(&lane, &[1]).await.end, End::Unreachable));
    let connection = accept(&endpoint).await;
    connection.close(VarInt::from_u32(1), b"unknown key");
    let before = lane.state().failures;
    let state = until(&lane, |state| state.failures > before).await;
    assert_eq!(state.reason, "closed with 1: unknown key");
    assert_eq!(state.connects, 0);
    let (connection, _) = answer_greeting(&endpoint, &[0]).await;
    assert!(certificate_of(&connection).is_empty());
    until(&lane, |state| state.is_connected).await;
    assert!(matches!(send(&lane, &[3; 99]).await.end, End::Written));
    let mut stream = connection.accept_uni().await.unwrap();
    assert_eq!(stream.read_to_end(100).await.unwrap(), [3; 99]);
}

#[tokio::test]
async fn no_transaction_is_written_before_a_greeting_without_an_answer_has_come() {
    // As Glaive, with a certificate that says nothing.
    let endpoint = listen(0, MANY).await;
    let mut options = greeted(port_of(&endpoint), &[9; 17], false);
    options.identity = Identity::Node { seed: None };
    options.is_answered = false;
    let lane = Lane::open(options).unwrap();
    let connection = accept(&endpoint).await;
    assert!(!certificate_of(&connection).is_empty());
    until(&lane, |state| state.is_connected).await;
    assert!(matches!(send(&lane, &[1; 50]).await.end, End::Written));
    for expected in [vec![9; 17], vec![1; 50]] {
        let mut stream = connection.accept_uni().await.unwrap();
        assert_eq!(stream.read_to_end(100).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn a_peer_that_does_not_answer_the_greeting_is_left() {
    let endpoint = listen(0, MANY).await;
    let mut options = greeted(port_of(&endpoint), b"key", true);
    options.connect_wait = Duration::from_millis(300);
    let lane = Lane::open(options).unwrap();
    let _silent = accept(&endpoint).await;
    let state = until(&lane, |state| state.failures > 0).await;
    assert_eq!(state.reason, "no connection in time");
}

fn end_of(sent: &Sent) -> Result<&[u8], &str> {
    match &sent.end {
        End::Answered(answer) => Ok(answer),
        End::Unknown => Err(&sent.reason),
        _ => panic!("neither an answer nor unknown: {}", sent.reason),
    }
}

/// An answer, whether its stream ends, and what it is read as.
type Case<'a> = (&'a [u8], bool, Result<&'a [u8], &'a str>);

#[tokio::test]
async fn an_answer_with_a_length_needs_no_end_of_its_stream() {
    // As Node1, without a protocol: status, length and text.
    let (endpoint, _) = listen_as(0, MANY, &[]).await;
    let mut options = options(port_of(&endpoint));
    options.protocol = Vec::new();
    options.answer_bytes_max = 30;
    options.answer_head = Some(Head {
        bytes: 6,
        length_bytes: 4,
    });
    let lane = Lane::open(options).unwrap();
    let connection = accept(&endpoint).await;
    until(&lane, |state| state.is_connected).await;
    let whole = [0, 200, 0, 0, 0, 2, b'o', b'k'];
    let cases: [Case<'_>; 6] = [
        (&whole, false, Ok(&whole)),
        (&[&whole[..], b"more"].concat(), true, Ok(&whole)),
        (&[0, 200, 0, 0, 0, 0], false, Ok(&[0, 200, 0, 0, 0, 0])),
        (&whole[..7], true, Err("a shorter answer than any")),
        (&whole[..7], false, Err("no whole answer in time")),
        (
            &[0, 200, 0xff, 0xff, 0xff, 0xff],
            false,
            Err("a longer answer than any"),
        ),
    ];
    for (answer, ends, expected) in cases {
        let (sent, _stream) = tokio::join!(send(&lane, &[1; 100]), async {
            let (mut answers, mut stream) = connection.accept_bi().await.unwrap();
            stream.read_to_end(1_000).await.unwrap();
            answers.write_all(answer).await.unwrap();
            if ends {
                answers.finish().unwrap();
            }
            answers
        });
        assert_eq!(end_of(&sent), expected);
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = base64_simd::STANDARD.encode_to_string(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

#[tokio::test]
async fn an_issued_certificate_is_shown_to_a_peer_that_is_verified() {
    let (endpoint, authority) = listen_as(0, MANY, &[b"solana-trader-submit-v1"]).await;
    let key = rcgen::KeyPair::generate().unwrap();
    let made = rcgen::CertificateParams::default()
        .self_signed(&key)
        .unwrap();
    let [certificate, key] = [
        pem("CERTIFICATE", made.der()),
        pem("PRIVATE KEY", &key.serialize_der()),
    ];
    let pem = [certificate.clone(), key.clone()].concat();
    let open = |server_name: &str, roots: Option<RootCertStore>| {
        let mut options = options(port_of(&endpoint));
        options.protocol = b"solana-trader-submit-v1".to_vec();
        options.server_name = server_name.into();
        options.identity = Identity::Issued(pem.clone());
        options.roots = roots.map(Arc::new);
        Lane::open(options).unwrap()
    };
    let mut roots = RootCertStore::empty();
    roots.add(authority).unwrap();
    let accepting = endpoint.clone();
    let (lane, connection) = tokio::join!(
        async { open("localhost", Some(roots.clone())) },
        accept(&accepting)
    );
    assert_eq!(certificate_of(&connection), made.der().to_vec());
    until(&lane, |state| state.is_connected).await;
    // Another name, and another authority.
    let mut others = RootCertStore::empty();
    others.add(made.der().clone()).unwrap();
    for (name, roots) in [("elsewhere", roots), ("localhost", others)] {
        let lane = open(name, Some(roots));
        let accepting = endpoint.clone();
        let peer = tokio::spawn(async move { accepting.accept().await.unwrap().await.is_err() });
        let state = until(&lane, |state| state.failures > 0).await;
        assert!(
            state.reason.starts_with("transport error"),
            "{}",
            state.reason
        );
        assert!(peer.await.unwrap());
    }
    for pem in [certificate, key, "-----BEGIN".into()] {
        let mut options = options(1);
        options.identity = Identity::Issued(pem);
        let failed = Lane::open(options).err().unwrap().to_string();
        assert!(
            failed.contains("no certificate with its key in PEM"),
            "{failed}"
        );
    }
}
