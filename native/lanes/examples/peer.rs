//! A peer of lanes for tests of the whole service. Its standard input says what it does with the
//! streams that follow, a line each: `answer <status> <text>`, `silent`, `reset` or `close <text>`.
//! Its standard output says what has come: `port`, `connection` with ALPN, SNI and the certificate
//! in hexadecimal, `bi` and `uni` with the bytes of a stream, and `closed`.

#[path = "../tests/peer/mod.rs"]
#[allow(dead_code, reason = "the tests of the crate use the rest")]
mod peer;

use std::io::BufRead;

use peer::{MANY, certificate_of, frame, listen, port_of};
use quinn::crypto::rustls::HandshakeData;
use quinn::{Connection, RecvStream, SendStream, VarInt};
use tokio::sync::watch;

const TRANSACTION_BYTES_MAX: usize = 4_096;

#[derive(Clone)]
enum Mode {
    Answer(u16, String),
    Silent,
    Reset,
    Close(String),
}

fn mode_of(line: &str) -> Option<Mode> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "answer" => {
            let (status, text) = rest.split_once(' ').unwrap_or((rest, ""));
            Some(Mode::Answer(status.parse().ok()?, text.into()))
        }
        "silent" => Some(Mode::Silent),
        "reset" => Some(Mode::Reset),
        "close" => Some(Mode::Close(rest.into())),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Answers one stream. The answer comes in pieces of three bytes.
async fn answer(
    connection: &Connection,
    mode: Mode,
    (mut answers, mut stream): (SendStream, RecvStream),
) {
    let Ok(bytes) = stream.read_to_end(TRANSACTION_BYTES_MAX).await else {
        return;
    };
    println!("bi {}", hex(&bytes));
    match mode {
        Mode::Answer(status, text) => {
            for piece in frame(status, text.as_bytes()).chunks(3) {
                if answers.write_all(piece).await.is_err() {
                    return;
                }
            }
            let _ = answers.finish();
            let _ = answers.stopped().await;
        }
        Mode::Silent => {
            connection.closed().await;
        }
        Mode::Reset => {
            let _ = answers.reset(VarInt::from_u32(1));
        }
        Mode::Close(text) => connection.close(VarInt::from_u32(1), text.as_bytes()),
    }
}

async fn serve(connection: Connection, modes: watch::Receiver<Mode>) {
    let data = connection.handshake_data();
    let data = data.and_then(|data| data.downcast::<HandshakeData>().ok());
    let (protocol, name) = data.map_or((None, None), |data| (data.protocol, data.server_name));
    println!(
        "connection {} {} {}",
        String::from_utf8_lossy(&protocol.unwrap_or_default()),
        name.unwrap_or_default(),
        hex(&certificate_of(&connection))
    );
    loop {
        tokio::select! {
            streams = connection.accept_bi() => {
                let Ok(streams) = streams else { break };
                let (connection, mode) = (connection.clone(), modes.borrow().clone());
                tokio::spawn(async move { answer(&connection, mode, streams).await });
            }
            stream = connection.accept_uni() => {
                let Ok(mut stream) = stream else { break };
                tokio::spawn(async move {
                    if let Ok(bytes) = stream.read_to_end(TRANSACTION_BYTES_MAX).await {
                        println!("uni {}", hex(&bytes));
                    }
                });
            }
        }
    }
    println!("closed");
}

#[tokio::main]
async fn main() {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let endpoint = listen(port.unwrap_or(0), MANY).await;
    println!("port {}", port_of(&endpoint));
    let (tell, modes) = watch::channel(Mode::Answer(200, String::new()));
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if let Some(mode) = mode_of(&line) {
                tell.send_replace(mode);
                println!("mode");
            }
        }
        std::process::exit(0);
    });
    while let Some(incoming) = endpoint.accept().await {
        let modes = modes.clone();
        tokio::spawn(async move {
            if let Ok(connection) = incoming.await {
                serve(connection, modes).await;
            }
        });
    }
}
