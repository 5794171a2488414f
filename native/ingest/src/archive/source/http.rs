//! A resumable transfer over HTTP. A separate thread fetches ahead, within a bound.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use url::Url;

use super::connect;
use super::failure::Failure;
use super::options::{Source, SourceOptions};
use crate::archive::name::ArchiveName;
use crate::progress::Progress;
use sys::error::{Error, Result};

/// Upper bound of chunks, because the queue allocates all of them at once. They are 16 GiB.
const CHUNKS_MAX: usize = 1 << 16;
/// Interval of checks for cancellation.
const TICK: Duration = Duration::from_millis(250);

enum Chunk {
    Head {
        name: ArchiveName,
        bytes: Option<u64>,
    },
    Body(Bytes),
    End,
    Failed(Error),
}

pub(super) fn open(
    location: &str,
    options: &SourceOptions,
    progress: &Arc<Progress>,
) -> Result<Source> {
    let invalid = |_| Error::SnapshotInvalid("the snapshot's address is not a URL".into());
    let url = Url::parse(location).map_err(invalid)?;
    if !url.username().is_empty() || url.password().is_some() {
        let reason = "user and password in a snapshot's address are not sent: leave them out";
        return Err(Error::SnapshotInvalid(reason.into()));
    }
    let (sender, receiver) = sync_channel(chunks_ahead(options));
    let is_read = Arc::new(AtomicBool::new(true));
    let transfer = Transfer {
        url,
        options: options.clone(),
        sender,
        progress: Arc::clone(progress),
        is_read: Arc::clone(&is_read),
        offset: 0,
        bytes: None,
        validator: None,
        has_begun: false,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    thread::Builder::new()
        .name("snapshot-http".into())
        .spawn(move || runtime.block_on(transfer.run()))?;
    let chunks = Chunks {
        receiver,
        is_read,
        chunk: Bytes::new(),
        has_ended: false,
    };
    match chunks.receiver.recv() {
        Ok(Chunk::Head { name, bytes }) => Ok(Source {
            name,
            bytes,
            reader: Box::new(chunks),
        }),
        Ok(Chunk::Failed(error)) => Err(error),
        _ => Err(Error::Internal("the transfer ended before it began".into())),
    }
}

/// The reading side.
struct Chunks {
    receiver: Receiver<Chunk>,
    is_read: Arc<AtomicBool>,
    chunk: Bytes,
    has_ended: bool,
}

impl Drop for Chunks {
    fn drop(&mut self) {
        self.is_read.store(false, Ordering::Relaxed);
    }
}

impl Read for Chunks {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() && !self.has_ended {
            match self.receiver.recv() {
                Ok(Chunk::Body(chunk)) => self.chunk = chunk,
                Ok(Chunk::End) => self.has_ended = true,
                Ok(Chunk::Failed(error)) => return Err(io::Error::other(error)),
                Ok(Chunk::Head { .. }) => {}
                Err(_) => return Err(io::Error::other("the transfer's thread is gone")),
            }
        }
        let count = self.chunk.len().min(out.len());
        let chunk = self.chunk.split_to(count);
        for (to, from) in out.iter_mut().zip(&chunk) {
            *to = *from;
        }
        Ok(count)
    }
}

/// The fetching side.
struct Transfer {
    url: Url,
    options: SourceOptions,
    sender: SyncSender<Chunk>,
    progress: Arc<Progress>,
    is_read: Arc<AtomicBool>,
    offset: u64,
    bytes: Option<u64>,
    /// Sent as `If-Range`, so that a changed file is not joined to the bytes received before.
    validator: Option<HeaderValue>,
    has_begun: bool,
}

impl Transfer {
    async fn run(mut self) {
        let (mut failures, mut mark) = (0, 0);
        loop {
            let (reason, pause) = match self.attempt().await {
                Ok(()) => return self.end(Chunk::End),
                Err(Failure::Again(reason, pause)) => (reason, pause.unwrap_or_default()),
                Err(Failure::Last(reason)) => return self.end_for(&reason),
                Err(Failure::Own(error)) => return self.end(Chunk::Failed(error)),
                Err(Failure::Unread) => return,
            };
            if self.offset - mark >= self.options.worthwhile_bytes {
                failures = 0;
            }
            mark = self.offset;
            failures += 1;
            if failures >= self.options.attempts_max {
                let so_far = format!("{reason} ({failures} tries, {} bytes came)", self.offset);
                return self.end_for(&so_far);
            }
            let longest = Duration::from_millis(self.options.backoff_max_ms);
            let doubled = self
                .options
                .backoff_initial_ms
                .saturating_mul(1 << (failures - 1).min(20));
            let pause = pause.max(Duration::from_millis(doubled)).min(longest);
            match self.within(tokio::time::sleep(pause), pause + TICK).await {
                Ok(()) | Err(Failure::Again(..)) => {}
                Err(Failure::Own(error)) => return self.end(Chunk::Failed(error)),
                Err(_) => return,
            }
        }
    }

    fn end(&self, chunk: Chunk) {
        // A dropped reader is not a failure.
        let _ = self.sender.send(chunk);
    }

    fn end_for(&self, reason: &str) {
        let host = self.url.host_str().unwrap_or_default();
        let port = self
            .url
            .port()
            .map(|port| format!(":{port}"))
            .unwrap_or_default();
        self.end(Chunk::Failed(Error::SnapshotTransfer(format!(
            "{host}{port}: {reason}"
        ))));
    }

    /// Awaits with a time-out. Returns within a tick after cancellation.
    async fn within<F: Future>(
        &self,
        future: F,
        limit: Duration,
    ) -> std::result::Result<F::Output, Failure> {
        let mut future = std::pin::pin!(future);
        let end = Instant::now() + limit;
        loop {
            if let Ok(output) = tokio::time::timeout(TICK, &mut future).await {
                return Ok(output);
            }
            self.progress.check().map_err(Failure::Own)?;
            if !self.is_read.load(Ordering::Relaxed) {
                return Err(Failure::Unread);
            }
            if Instant::now() >= end {
                let ms = limit.as_millis();
                let reason = format!("it is silent for {ms} ms");
                return Err(Failure::again(reason));
            }
        }
    }

    fn idle_limit(&self) -> Duration {
        Duration::from_millis(self.options.silence_ms)
    }

    /// Sends one request, follows its redirects, and reads the body until it ends or breaks.
    async fn attempt(&mut self) -> std::result::Result<(), Failure> {
        for _ in 0..=self.options.redirects_max {
            self.progress.check().map_err(Failure::Own)?;
            // The call has its own time-out; the wrapper adds cancellation.
            let sending = connect::send(&self.url, self.request()?, &self.options);
            let limit = Duration::from_millis(self.options.connect_ms) + TICK;
            let response = self.within(sending, limit).await??;
            let response = self.within(response, self.idle_limit()).await?;
            let response = response.map_err(|error| Failure::again(error.to_string()))?;
            if !is_redirect(response.status()) {
                self.begin(&response)?;
                return self.receive(response.into_body()).await;
            }
            self.url = follow(&self.url, response.headers())?;
        }
        Err(Failure::Last(format!(
            "it redirects more than {} times",
            self.options.redirects_max
        )))
    }

    fn request(&self) -> std::result::Result<Request<Empty<Bytes>>, Failure> {
        let path = self.url.path();
        let target = match self.url.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        };
        let host = self.url.host_str().unwrap_or_default();
        let host = match self.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let mut request = Request::builder()
            .method(Method::GET)
            .uri(target)
            .header(header::HOST, host)
            .header(header::ACCEPT_ENCODING, "identity")
            .header(header::USER_AGENT, "slotline");
        if self.offset > 0 {
            request = request.header(header::RANGE, format!("bytes={}-", self.offset));
            if let Some(validator) = &self.validator {
                request = request.header(header::IF_RANGE, validator);
            }
        }
        request
            .body(Empty::new())
            .map_err(|_| Failure::last("the address cannot be asked for"))
    }

    /// Reads a response head. Fails if the body does not continue the received bytes.
    fn begin(&mut self, response: &Response<Incoming>) -> std::result::Result<(), Failure> {
        let headers = response.headers();
        match response.status() {
            StatusCode::OK if self.offset == 0 => {}
            StatusCode::OK => {
                return Err(Failure::last(
                    "the transfer broke off, and the server does not send the rest: it changed the file, \
                     or knows no ranges",
                ));
            }
            StatusCode::PARTIAL_CONTENT if self.offset > 0 => {
                let (start, total) = content_range(headers)
                    .ok_or_else(|| Failure::last("it sends a range without saying which"))?;
                if start != self.offset || total.is_some() && total != self.bytes {
                    return Err(Failure::last(
                        "it sends another range than the one asked for",
                    ));
                }
                return Ok(());
            }
            status => return Err(refused(status, headers)),
        }
        let encoding = text_of(headers, header::CONTENT_ENCODING).unwrap_or("identity");
        if encoding != "identity" {
            return Err(Failure::last(
                "it packs the archive once more (content-encoding)",
            ));
        }
        let segments = self
            .url
            .path_segments()
            .and_then(|mut parts| parts.next_back());
        let name = ArchiveName::parse(segments.unwrap_or_default()).map_err(Failure::Own)?;
        self.bytes = text_of(headers, header::CONTENT_LENGTH).and_then(|text| text.parse().ok());
        // A weak tag compares meaning, not bytes, so it cannot validate a resumed transfer.
        let strong = |tag: &&HeaderValue| !tag.as_bytes().starts_with(b"W/");
        let tag = headers.get(header::ETAG).filter(strong);
        self.validator = tag.or_else(|| headers.get(header::LAST_MODIFIED)).cloned();
        if !self.has_begun {
            self.has_begun = true;
            let head = Chunk::Head {
                name,
                bytes: self.bytes,
            };
            return self.sender.send(head).map_err(|_| Failure::Unread);
        }
        Ok(())
    }

    async fn receive(&mut self, mut body: Incoming) -> std::result::Result<(), Failure> {
        loop {
            let frame = self.within(body.frame(), self.idle_limit()).await?;
            let Some(frame) = frame else { break };
            let broken = |error: hyper::Error| Failure::again(format!("it breaks off: {error}"));
            let Ok(data) = frame.map_err(broken)?.into_data() else {
                continue;
            };
            self.offset += data.len() as u64;
            if self.bytes.is_some_and(|bytes| self.offset > bytes) {
                return Err(Failure::last("it sends more than it said"));
            }
            self.sender
                .send(Chunk::Body(data))
                .map_err(|_| Failure::Unread)?;
        }
        match self.bytes {
            Some(bytes) if self.offset < bytes => Err(Failure::again("it breaks off")),
            _ => Ok(()),
        }
    }
}

/// Number of chunks fetched ahead, each of at most [`connect::READ_BYTES`].
fn chunks_ahead(options: &SourceOptions) -> usize {
    let chunks = options.ahead_bytes_max / connect::READ_BYTES as u64;
    usize::try_from(chunks)
        .unwrap_or(usize::MAX)
        .clamp(1, CHUNKS_MAX)
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// The target of a redirect.
pub(super) fn follow(url: &Url, headers: &HeaderMap) -> std::result::Result<Url, Failure> {
    let location = text_of(headers, header::LOCATION)
        .and_then(|text| url.join(text).ok())
        .filter(|url| matches!(url.scheme(), "http" | "https"))
        .ok_or_else(|| Failure::last("it redirects to no address"))?;
    if url.scheme() == "https" && location.scheme() == "http" {
        return Err(Failure::last("it redirects from https to http"));
    }
    Ok(location)
}

fn refused(status: StatusCode, headers: &HeaderMap) -> Failure {
    let reason = format!("it answers {status}");
    if !status.is_server_error() && !matches!(status.as_u16(), 408 | 425 | 429) {
        return Failure::Last(reason);
    }
    let seconds = text_of(headers, header::RETRY_AFTER).and_then(|text| text.parse().ok());
    Failure::Again(reason, seconds.map(Duration::from_secs))
}

/// `bytes <start>-<end>/<total>`; the total may be `*`.
pub(super) fn content_range(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let text = text_of(headers, header::CONTENT_RANGE)?.strip_prefix("bytes ")?;
    let (range, total) = text.split_once('/')?;
    let (start, _) = range.split_once('-')?;
    Some((start.parse().ok()?, total.parse().ok()))
}

fn text_of(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}
