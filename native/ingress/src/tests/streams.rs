use std::time::{Duration, Instant};

use quinn::{ReadError, VarInt, WriteError};

use super::fixture::{ask, connect, end_of, open, read_answer};
use crate::close::{Close, TOO_LONG, TOO_SLOW};

#[tokio::test]
async fn each_stream_is_a_transaction() {
    let edge = open();
    let connection = connect(&edge, "good").await;
    assert_eq!(
        ask(&connection, &[1; 1_232]).await,
        Some((200, "1232".into()))
    );
    assert_eq!(
        ask(&connection, &[0x81; 4_096]).await,
        Some((200, "4096".into()))
    );
    assert_eq!(ask(&connection, b"").await, Some((200, "0".into())));
    for _ in 0..3 {
        edge.next().await;
    }
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"quiet").await.unwrap();
    send.finish().unwrap();
    assert_eq!(edge.next().await.2, b"quiet");
    // A client may send and leave.
    let mut send = connection.open_uni().await.unwrap();
    send.write_all(b"last").await.unwrap();
    send.finish().unwrap();
    send.stopped().await.unwrap();
    connection.close(VarInt::from_u32(0), b"client_closed");
    let (id, _, bytes) = edge.next().await;
    assert_eq!(bytes, b"last");
    assert_eq!(edge.closed.lock().await.recv().await, Some(id));
}

#[tokio::test]
async fn a_stream_that_is_too_long_is_reset() {
    let edge = open();
    let connection = connect(&edge, "good").await;
    for length in [4_097, 8 << 20] {
        let (mut send, mut receive) = connection.open_bi().await.unwrap();
        let written = match send.write_all(&vec![0x81; length]).await {
            Ok(()) => send.stopped().await.unwrap(),
            Err(WriteError::Stopped(code)) => Some(code),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(written, Some(TOO_LONG));
        let read = receive.read_chunk(1, true).await;
        assert!(matches!(read, Err(ReadError::Reset(TOO_LONG))), "{read:?}");
    }
    assert_eq!(edge.listener.stats().streams_reset, 2);
    assert_eq!(ask(&connection, b"four").await, Some((200, "4".into())));
    assert_eq!(edge.listener.stats().stream_bytes, 0);
}

#[tokio::test]
async fn streams_that_nobody_writes_are_reset() {
    let edge = open();
    let (idle, other) = (
        connect(&edge, "good-idle").await,
        connect(&edge, "good").await,
    );
    let mut streams = Vec::new();
    for _ in 0..64 {
        let mut send = idle.open_uni().await.unwrap();
        send.write_all(b"1").await.unwrap();
        streams.push(send);
    }
    // Of a thousand, the others wait for these.
    let more = tokio::time::timeout(Duration::from_millis(200), idle.open_uni()).await;
    assert!(more.is_err(), "64 at once");
    assert_eq!(ask(&other, b"four").await, Some((200, "4".into())));
    let began = Instant::now();
    for send in &mut streams {
        let stopped = send.stopped().await;
        assert_eq!(stopped.unwrap(), Some(TOO_SLOW));
    }
    assert!(began.elapsed() < Duration::from_secs(30));
    // A client that does not give them up has no others.
    drop(streams);
    // One whose every byte comes late is one of these, too.
    let mut send = idle.open_uni().await.unwrap();
    let written = loop {
        if let Err(error) = send.write_all(b"1").await {
            break error;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(
        matches!(written, WriteError::Stopped(TOO_SLOW)),
        "{written}"
    );
    assert_eq!(ask(&idle, b"four").await, Some((200, "4".into())));
}

#[tokio::test]
async fn no_answer_leaves_after_the_close() {
    let edge = open();
    let connection = connect(&edge, "good").await;
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    send.write_all(b"hold").await.unwrap();
    send.finish().unwrap();
    let (id, stream, _) = edge.next().await;
    edge.listener.close(id, Close::InvalidAuth);
    edge.listener.answer(stream, 200, "late".into());
    assert_eq!(read_answer(&mut receive).await, None);
    assert_eq!(end_of(&connection).await, (1, "invalid_auth".into()));
}

#[tokio::test]
async fn a_drain_answers_what_is_in_flight() {
    let edge = open();
    let (busy, idle) = (connect(&edge, "good").await, connect(&edge, "good").await);
    ask(&idle, b"four").await;
    edge.next().await;
    let (mut send, mut receive) = busy.open_bi().await.unwrap();
    send.write_all(b"hold").await.unwrap();
    send.finish().unwrap();
    let (_, stream, _) = edge.next().await;
    let (sender, done) = tokio::sync::oneshot::channel();
    edge.listener.drain(Box::new(move || {
        let _ = sender.send(());
    }));
    assert_eq!(end_of(&idle).await, (4, "unavailable".into()));
    assert!(busy.close_reason().is_none());
    edge.listener.answer(stream, 200, "now".into());
    assert_eq!(read_answer(&mut receive).await, Some((200, "now".into())));
    assert_eq!(end_of(&busy).await, (4, "unavailable".into()));
    done.await.unwrap();
}

#[tokio::test]
async fn a_tenant_with_many_streams_leaves_room() {
    let edge = open();
    let other = connect(&edge, "good").await;
    let mut held = Vec::new();
    let mut refused = 0;
    // Each connection may have 64 streams; half of an edge's are for others.
    for _ in 0..40 {
        let connection = connect(&edge, "good-greedy").await;
        for _ in 0..64 {
            let (mut send, receive) = connection.open_bi().await.unwrap();
            send.write_all(b"hold").await.unwrap();
            send.finish().unwrap();
            held.push((send, receive));
        }
        refused = edge.listener.stats().streams_refused;
        assert_eq!(ask(&other, b"four").await, Some((200, "4".into())));
    }
    let stats = edge.listener.stats();
    assert!(stats.streams <= 2_049, "{}", stats.streams);
    assert!(refused > 300, "{refused}");
    let (_, last) = held.last_mut().unwrap();
    assert_eq!(read_answer(last).await, Some((503, "unavailable".into())));
}
