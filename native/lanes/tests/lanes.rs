//! Lanes to a peer over real sockets.

mod peer;

use std::time::{Duration, Instant};

use lanes::{End, Identity, Lane, Sent};
use peer::{Grants, MANY, accept, certificate_of, frame, listen, options, port_of, send, until};
use quinn::crypto::rustls::HandshakeData;
use quinn::{ConnectionError, VarInt};

fn answer_of(sent: &Sent) -> &[u8] {
    match &sent.end {
        End::Answered(answer) => answer,
        End::Unreachable | End::Full | End::Written | End::Unknown => {
            panic!("no answer: {}", sent.reason)
        }
    }
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The common name of a certificate, as DER.
fn common_name(name: &str) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap();
    [
        &[0x06, 0x03, 0x55, 0x04, 0x03, 0x0c, length],
        name.as_bytes(),
    ]
    .concat()
}

const PROTECTED: [u8; 11] = [6, 4, 0x88, 0x37, 1, 1, 4, 3, 1, 1, 0xff];

#[tokio::test]
async fn the_key_is_in_the_certificate_and_an_answer_comes_in_pieces() {
    let endpoint = listen(0, MANY).await;
    let mut options = options(port_of(&endpoint));
    options.identity = Identity::Named {
        key: "key-of-the-service".into(),
        is_protected: true,
        is_ed25519: false,
    };
    let lane = Lane::open(options).unwrap();
    let connection = accept(&endpoint).await;
    let data = connection
        .handshake_data()
        .unwrap()
        .downcast::<HandshakeData>()
        .unwrap();
    assert_eq!(data.protocol.as_deref(), Some(peer::PROTOCOL));
    assert_eq!(data.server_name.as_deref(), Some("lander.example"));
    let certificate = certificate_of(&connection);
    assert!(holds(&certificate, &common_name("key-of-the-service")));
    assert!(holds(&certificate, &PROTECTED));
    // ECDSA over P-256.
    assert!(holds(
        &certificate,
        &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
    ));
    until(&lane, |state| state.is_connected).await;
    let transaction = vec![7u8; 4_096];
    let (sent, received) = tokio::join!(send(&lane, &transaction), async {
        let (mut answers, mut stream) = connection.accept_bi().await.unwrap();
        let received = stream.read_to_end(10_000).await.unwrap();
        for piece in frame(200, b"a signature").chunks(3) {
            answers.write_all(piece).await.unwrap();
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        answers.finish().unwrap();
        received
    });
    assert_eq!(received, transaction);
    assert_eq!(answer_of(&sent), frame(200, b"a signature"));
    assert!(sent.written_after.unwrap() < Duration::from_millis(400));
}

#[tokio::test]
async fn a_node_has_the_key_that_it_was_given() {
    let endpoint = listen(0, MANY).await;
    let mut options = options(port_of(&endpoint));
    options.identity = Identity::Node {
        seed: Some([1; 32]),
    };
    options.is_answered = false;
    let lane = Lane::open(options).unwrap();
    let connection = accept(&endpoint).await;
    let certificate = certificate_of(&connection);
    // As sol-trade-sdk 11.0.1 shows it to Speedlanding and Solami, with the public key of the seed
    // by RFC 8032.
    let recorded = "3081f63081a9a00302010202080101010101010101300506032b657030163114301206035504030c0b\
        536f6c616e61206e6f64653020170d3730303130313030303030305a180f3430393630313031303030303030\
        5a3000302a300506032b6570032100\
        8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c\
        a329302730170603551d110101ff040d300b82096c6f63616c686f7374300c0603551d130101ff0402\
        3000300506032b6570034100";
    let shown: String = certificate
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(shown, recorded.to_owned() + &"ff".repeat(64));
    until(&lane, |state| state.is_connected).await;
    let sent = send(&lane, &[3; 1_232]).await;
    assert!(matches!(sent.end, End::Written), "{}", sent.reason);
    let mut stream = connection.accept_uni().await.unwrap();
    assert_eq!(stream.read_to_end(10_000).await.unwrap(), [3; 1_232]);
}

#[tokio::test]
async fn what_is_no_whole_answer_leaves_the_outcome_unknown() {
    let endpoint = listen(0, MANY).await;
    let lane = Lane::open(options(port_of(&endpoint))).unwrap();
    let connection = accept(&endpoint).await;
    until(&lane, |state| state.is_connected).await;
    // Too long, reset in the middle, and none at all.
    let cases = [
        "a longer answer than any",
        "reset with 9",
        "no whole answer in time",
    ];
    for (case, reason) in cases.into_iter().enumerate() {
        let (sent, _stream) = tokio::join!(send(&lane, &[1; 100]), async {
            let (mut answers, mut stream) = connection.accept_bi().await.unwrap();
            stream.read_to_end(1_000).await.unwrap();
            if case == 0 {
                answers.write_all(&[0; 1_031]).await.unwrap();
                answers.finish().unwrap();
            } else if case == 1 {
                answers.write_all(&frame(200, b"half")[..5]).await.unwrap();
                answers.reset(VarInt::from_u32(9)).unwrap();
            }
            answers
        });
        assert!(matches!(sent.end, End::Unknown), "{reason}");
        assert_eq!(sent.reason, reason);
        assert!(sent.written_after.is_some());
    }
    assert!(lane.state().is_connected, "the connection serves on");
    while lane.in_flight() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_peer_that_refuses_early_is_heard() {
    let endpoint = listen(0, MANY).await;
    let lane = Lane::open(options(port_of(&endpoint))).unwrap();
    let connection = accept(&endpoint).await;
    until(&lane, |state| state.is_connected).await;
    let (sent, ()) = tokio::join!(send(&lane, &[1; 4_096]), async {
        let (mut answers, mut stream) = connection.accept_bi().await.unwrap();
        stream.stop(VarInt::from_u32(1)).unwrap();
        answers
            .write_all(&frame(429, b"rate limit exceeded"))
            .await
            .unwrap();
        answers.finish().unwrap();
    });
    assert_eq!(answer_of(&sent), frame(429, b"rate limit exceeded"));
}

#[tokio::test]
async fn a_peer_that_grants_no_stream_is_left_in_time() {
    let endpoint = listen(0, Grants { uni: 0, bidi: 1 }).await;
    for is_answered in [true, false] {
        let mut options = options(port_of(&endpoint));
        options.is_answered = is_answered;
        let lane = Lane::open(options).unwrap();
        let connection = accept(&endpoint).await;
        until(&lane, |state| state.is_connected).await;
        // Holds the one stream.
        let (held, _) = if is_answered {
            let (sent, streams) = tokio::join!(send(&lane, &[1]), connection.accept_bi());
            (Some(sent), Some(streams.unwrap()))
        } else {
            (None, None)
        };
        assert!(held.is_none_or(|sent| matches!(sent.end, End::Unknown)));
        let began = Instant::now();
        let sent = send(&lane, &[2; 100]).await;
        if !is_answered {
            assert!(matches!(sent.end, End::Unreachable));
            assert_eq!(sent.reason, "the peer grants no stream");
        }
        assert!(began.elapsed() < Duration::from_secs(2));
        assert!(lane.state().is_connected);
    }
}

#[tokio::test]
async fn transactions_in_flight_are_bounded() {
    let endpoint = listen(0, MANY).await;
    let lane = Lane::open(options(port_of(&endpoint))).unwrap();
    let _connection = accept(&endpoint).await;
    until(&lane, |state| state.is_connected).await;
    let sends = [(); 6].map(|()| send(&lane, &[1; 100]));
    let [a, b, c, d, e, f] = sends;
    let (a, b, c, d, e, f) = tokio::join!(a, b, c, d, e, f);
    for sent in [a, b, c, d] {
        assert!(matches!(sent.end, End::Unknown), "{}", sent.reason);
    }
    for sent in [e, f] {
        assert!(matches!(sent.end, End::Full), "{}", sent.reason);
        assert!(sent.written_after.is_none());
    }
}

#[tokio::test]
async fn a_refused_lane_tries_again_ever_more_rarely_and_says_why() {
    let endpoint = listen(0, MANY).await;
    let lane = Lane::open(options(port_of(&endpoint))).unwrap();
    let began = Instant::now();
    let mut count = 0;
    while began.elapsed() < Duration::from_secs(1) {
        let next = tokio::time::timeout(Duration::from_millis(400), accept(&endpoint)).await;
        let Ok(connection) = next else { break };
        count += 1;
        connection.close(VarInt::from_u32(3), b"invalid_auth");
    }
    // Pauses of 20, 40, 80, 160 and 200 ms, each at least half of that.
    assert!((3..=14).contains(&count), "{count} attempts in a second");
    let state = until(&lane, |state| {
        !state.is_connected && !state.reason.is_empty()
    })
    .await;
    assert_eq!(state.reason, "closed with 3: invalid_auth");
    let sent = send(&lane, &[1]).await;
    assert!(matches!(sent.end, End::Unreachable | End::Unknown));
}

#[tokio::test]
async fn a_lane_comes_back_when_its_peer_does() {
    let endpoint = listen(0, MANY).await;
    let port = port_of(&endpoint);
    let lane = Lane::open(options(port)).unwrap();
    let connection = accept(&endpoint).await;
    until(&lane, |state| state.is_connected).await;
    connection.close(VarInt::from_u32(0), b"restart");
    endpoint.close(VarInt::from_u32(0), b"restart");
    endpoint.wait_idle().await;
    drop((connection, endpoint));
    until(&lane, |state| !state.is_connected).await;
    let sent = send(&lane, &[1]).await;
    assert!(matches!(sent.end, End::Unreachable));
    assert_eq!(sent.reason, "not connected");
    let endpoint = listen(port, MANY).await;
    let connection = accept(&endpoint).await;
    until(&lane, |state| state.is_connected).await;
    let (sent, ()) = tokio::join!(send(&lane, &[1; 10]), async {
        let (mut answers, mut stream) = connection.accept_bi().await.unwrap();
        stream.read_to_end(100).await.unwrap();
        answers.write_all(&frame(200, b"")).await.unwrap();
        answers.finish().unwrap();
    });
    assert_eq!(answer_of(&sent), frame(200, b""));
    assert_eq!(lane.state().connects, 2);
}

#[tokio::test]
async fn another_protocol_and_a_name_without_an_address_are_failures() {
    let endpoint = listen(0, MANY).await;
    let mut other = options(port_of(&endpoint));
    other.protocol = b"another".to_vec();
    let mut nowhere = options(1);
    nowhere.host = "no-such-host.invalid".into();
    for (options, reason) in [
        (other, "refused with"),
        (nowhere, "the name has no address"),
    ] {
        let lane = Lane::open(options).unwrap();
        let accepting = endpoint.clone();
        let peer = tokio::spawn(async move { accepting.accept().await.unwrap().await.is_err() });
        let state = until(&lane, |state| state.failures > 0).await;
        assert!(state.reason.starts_with(reason), "{}", state.reason);
        assert_eq!(state.connects, 0);
        peer.abort();
    }
}

#[tokio::test]
async fn a_lane_that_is_closed_takes_leave_and_wakes_who_waits() {
    let endpoint = listen(0, MANY).await;
    let lane = Lane::open(options(port_of(&endpoint))).unwrap();
    let connection = accept(&endpoint).await;
    until(&lane, |state| state.is_connected).await;
    let (tell, told) = tokio::sync::oneshot::channel();
    let version = lane.state().version;
    lane.after(version, move |state| {
        let _ = tell.send(state);
    })
    .unwrap();
    lane.close();
    assert!(told.await.unwrap().is_closed);
    let sent = send(&lane, &[1]).await;
    assert!(matches!(sent.end, End::Unreachable));
    let ConnectionError::ApplicationClosed(close) = connection.closed().await else {
        panic!("no leave was taken");
    };
    assert_eq!(
        (close.error_code, &close.reason[..]),
        (0u32.into(), &b"client_closed"[..])
    );
}
