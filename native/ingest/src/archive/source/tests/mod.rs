//! Transfers over a real socket from a scripted server.

mod opening;
mod transfers;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::*;
use crate::archive::tests::{sample, writer};
use crate::progress::Progress;
use sys::error::{Error, Result};

const NAME: &str = "snapshot-100-5pgMpQj4MZYWauD1VnoNfmGAdUQCe6VVCSCQMNbDoxf7.tar.zst";

/// Serves connections sequentially. `answer` gets the number of the request, its text and the
/// socket.
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
    // In some cases the client has already disconnected.
    let _ = socket
        .write_all(head.as_bytes())
        .and_then(|()| socket.write_all(body));
}

/// Sends the whole body, or the requested range.
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
