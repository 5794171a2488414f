use std::net::UdpSocket;
use std::time::{Duration, Instant};

use quinn::ConnectionError;

use super::fixture::{PROTOCOL, ask, bind, certificate, client, connect, end_of, open, open_at};

#[tokio::test]
async fn a_client_keeps_its_edge_when_its_port_changes() {
    let first = open_at(bind(0), 0);
    let second = open_at(bind(first.address.port()), 1);
    sys::datagram::route(first.descriptor(), &[0, 1], &[1]).unwrap();
    let endpoint = client(Some(certificate(&["good"], None)), PROTOCOL);
    let connection = endpoint
        .connect(first.address, "any")
        .unwrap()
        .await
        .unwrap();
    assert_eq!(ask(&connection, b"four").await, Some((200, "4".into())));
    assert_eq!(second.next().await.2, b"four");
    for _ in 0..4 {
        endpoint
            .rebind(UdpSocket::bind("127.0.0.1:0").unwrap())
            .unwrap();
        assert_eq!(ask(&connection, b"again").await, Some((200, "5".into())));
        assert_eq!(second.next().await.2, b"again");
    }
    // A new edge takes new connections; this one stays where it is.
    sys::datagram::route(second.descriptor(), &[0, 1], &[0]).unwrap();
    assert_eq!(ask(&connection, b"still").await, Some((200, "5".into())));
    assert_eq!(second.next().await.2, b"still");
    let other = connect(&first, "good").await;
    ask(&other, b"new").await;
    assert_eq!(first.next().await.2, b"new");
}

#[tokio::test]
async fn a_client_whose_address_changes_connects_again() {
    let edge = open();
    let endpoint = client(Some(certificate(&["good"], None)), PROTOCOL);
    let connection = endpoint
        .connect(edge.address, "any")
        .unwrap()
        .await
        .unwrap();
    assert_eq!(ask(&connection, b"four").await, Some((200, "4".into())));
    edge.next().await;
    endpoint
        .rebind(UdpSocket::bind("127.0.0.2:0").unwrap())
        .unwrap();
    assert_eq!(ask(&connection, b"moved").await, None);
    assert_eq!(end_of(&connection).await, (5, "address_changed".into()));
    assert!(edge.transactions.lock().await.try_recv().is_err());
}

#[tokio::test]
async fn another_edge_ends_the_connections_of_one_that_is_gone() {
    let first = open_at(bind(0), 0);
    let second = open_at(bind(first.address.port()), 1);
    // The second edge gets what is for the first one, as if that had been killed.
    sys::datagram::route(first.descriptor(), &[0, 1], &[0]).unwrap();
    let connection = connect(&first, "good").await;
    assert_eq!(ask(&connection, b"four").await, Some((200, "4".into())));
    sys::datagram::route(first.descriptor(), &[1], &[1]).unwrap();
    let began = Instant::now();
    assert_eq!(ask(&connection, b"lost").await, None);
    assert!(matches!(connection.closed().await, ConnectionError::Reset));
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    let again = connect(&second, "good").await;
    assert_eq!(ask(&again, b"four").await, Some((200, "4".into())));
}

#[tokio::test]
async fn a_thousand_connections_of_one_tenant_leave_room() {
    let edge = open();
    let other = connect(&edge, "good").await;
    let mut open = Vec::new();
    let mut refused = 0;
    let endpoint = client(Some(certificate(&["good-greedy"], None)), PROTOCOL);
    for index in 0..1_000 {
        match endpoint.connect(edge.address, "any").unwrap().await {
            Ok(connection) => open.push(connection),
            Err(_) => refused += 1,
        }
        if index % 100 == 0 {
            assert_eq!(ask(&other, b"four").await, Some((200, "4".into())));
        }
    }
    // Those beyond the bound of an address are refused with its reason, or turned away.
    let stats = edge.listener.stats();
    assert!(stats.connections <= 512, "{}", stats.connections);
    let mut told = 0;
    for connection in &open[511..] {
        let (code, words) = end_of(connection).await;
        assert_eq!((code, words.as_str()), (3, "connection_limit"));
        told += 1;
    }
    assert_eq!(511 + told + refused, 1_000);
    assert_eq!(ask(&other, b"four").await, Some((200, "4".into())));
    assert_eq!(
        ask(&connect_elsewhere(&edge).await, b"four").await,
        Some((200, "4".into()))
    );
}

/// From another address than the clients of the test.
async fn connect_elsewhere(edge: &super::fixture::Edge) -> quinn::Connection {
    let mut endpoint = quinn::Endpoint::client(([127, 0, 0, 3], 0).into()).unwrap();
    let config = super::fixture::client_config(Some(certificate(&["good"], None)), PROTOCOL);
    endpoint.set_default_client_config(config);
    endpoint
        .connect(edge.address, "any")
        .unwrap()
        .await
        .unwrap()
}
