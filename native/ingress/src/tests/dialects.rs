//! The other senders of the sandbox, byte by byte.

use std::net::SocketAddr;

use quinn::{Connection, ConnectionError, Endpoint};

use super::fixture::{bind, certificate, client, open_as};
use crate::dialect::Dialect;

const KEY: [u8; 16] = *b"\x00\x11\x22\x33\x44\x55\x46\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff";
const KEY_TEXT: &str = "00112233-4455-4677-8899-aabbccddeeff";

async fn connect(endpoint: &Endpoint, address: SocketAddr) -> Connection {
    endpoint.connect(address, "any").unwrap().await.unwrap()
}

/// Writes a stream, and reads what answers it.
async fn ask(connection: &Connection, bytes: &[u8]) -> Vec<u8> {
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(bytes).await.unwrap();
    send.finish().unwrap();
    receive.read_to_end(2_000).await.unwrap()
}

async fn tell(connection: &Connection, bytes: &[u8]) {
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(bytes).await.unwrap();
    send.finish().unwrap();
    send.stopped().await.unwrap();
}

async fn reason_of(connection: &Connection) -> String {
    match connection.closed().await {
        ConnectionError::ApplicationClosed(close) => {
            String::from_utf8_lossy(&close.reason).into_owned()
        }
        other => other.to_string(),
    }
}

#[tokio::test]
async fn nextblock_answers_a_key_with_a_zero_and_no_transaction() {
    let edge = open_as(Dialect::NextBlock, bind(0), 0);
    let endpoint = client(None, b"nb-tx/1");
    let stranger = connect(&endpoint, edge.address).await;
    assert_eq!(ask(&stranger, b"bad").await, [1]);
    assert_eq!(reason_of(&stranger).await, "invalid_auth");
    let connection = connect(&endpoint, edge.address).await;
    assert_eq!(ask(&connection, b"good-key").await, [0]);
    tell(&connection, b"a transaction").await;
    assert_eq!(edge.next().await.2, b"a transaction");
    for wrong in [&[0xff; 4][..], &[b'a'; 257]] {
        let connection = connect(&endpoint, edge.address).await;
        let (mut send, _receive) = connection.open_bi().await.unwrap();
        send.write_all(wrong).await.unwrap();
        send.finish().unwrap();
        assert_eq!(reason_of(&connection).await, "bad_cert");
    }
}

#[tokio::test]
async fn node1_knows_a_uuid_and_answers_with_a_length() {
    let edge = open_as(Dialect::Node1, bind(0), 0);
    // Admits tokens that begin with `good`, so that a UUID is refused here.
    let endpoint = client(None, b"");
    let connection = connect(&endpoint, edge.address).await;
    assert_eq!(ask(&connection, &KEY).await, [1]);
    assert_eq!(reason_of(&connection).await, "invalid_auth");
    assert_eq!(edge.refused.lock().await.recv().await.unwrap(), KEY_TEXT);
    assert_eq!(
        Dialect::Node1.encode(200, "ok"),
        [0, 200, 0, 0, 0, 2, b'o', b'k']
    );
    assert_eq!(
        Dialect::Node1.encode(429, &"ä".repeat(600)).len(),
        6 + 1_024
    );
}

#[tokio::test]
async fn glaive_reads_a_key_and_flags_first() {
    let edge = open_as(Dialect::Glaive, bind(0), 0);
    let endpoint = client(Some(certificate(&["any"], None)), b"solana-tpu");
    let cases: [(&[u8], &str); 4] = [
        (&[&KEY[..], &[1]].concat(), "invalid_auth"),
        (&[&KEY[..], &[2]].concat(), "bad_cert"),
        (&KEY, "bad_cert"),
        (&[], "bad_cert"),
    ];
    for (greeting, reason) in cases {
        let connection = connect(&endpoint, edge.address).await;
        let mut send = connection.open_uni().await.unwrap();
        send.write_all(greeting).await.unwrap();
        send.finish().unwrap();
        assert_eq!(reason_of(&connection).await, reason);
    }
    assert_eq!(edge.refused.lock().await.recv().await.unwrap(), KEY_TEXT);
}

#[tokio::test]
async fn falcon_answers_two_bytes() {
    let edge = open_as(Dialect::Falcon, bind(0), 0);
    let endpoint = client(Some(certificate(&["good"], None)), b"falcon-tx");
    let connection = connect(&endpoint, edge.address).await;
    assert_eq!(ask(&connection, b"\x01whole").await, [1, 0]);
    assert_eq!(edge.next().await.2, b"whole");
    tell(&connection, b"\x01whole").await;
    assert_eq!(
        edge.next().await.2,
        b"\x01whole",
        "one-way streams have no head"
    );
    let codes = [
        (429, "rate limit exceeded", 1),
        (400, "signature verification failure", 2),
        (400, "tip required", 3),
        (400, "invalid payload", 4),
        (503, "unavailable", 6),
    ];
    for (status, words, code) in codes {
        assert_eq!(Dialect::Falcon.encode(status, words), [1, code]);
    }
}

#[test]
fn a_dialect_has_a_name() {
    assert_eq!(Dialect::named("glaive"), Some(Dialect::Glaive));
    assert_eq!(Dialect::named("other"), None);
    assert_eq!(Dialect::default(), Dialect::LunarLander);
}
