//! One connection: TLS where the listener has it, then HTTP/2.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{interval, timeout};
use tokio_rustls::TlsAcceptor;

use crate::service::{self, Peer};
use crate::shared::Shared;

/// Time for a handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A connection on which nothing arrives for this long is pinged, and closed without an answer.
const PING: Duration = Duration::from_secs(20);
const PONG: Duration = Duration::from_secs(10);
/// A connection that has had no call for this many looks, and how far they are apart.
const IDLE_LOOKS: u32 = 12;
const LOOK: Duration = Duration::from_secs(5);
/// Calls of one connection at once.
const CALLS_MAX: u32 = 128;
/// What waits in memory for a client that does not read, of one stream, beside one message.
const SEND_BYTES: usize = 64 * 1024;
const HEADER_BYTES_MAX: u32 = 16 * 1024;

/// Serves a connection until it ends.
pub async fn run(
    shared: Arc<Shared>,
    socket: TcpStream,
    address: SocketAddr,
    listener: usize,
    tls: Option<TlsAcceptor>,
) {
    // Updates are small and must not wait for each other.
    let _ = socket.set_nodelay(true);
    match tls {
        None => serve(shared, socket, address, listener).await,
        Some(tls) => {
            if let Ok(Ok(socket)) = timeout(HANDSHAKE, tls.accept(socket)).await {
                serve(shared, socket, address, listener).await;
            }
        }
    }
}

/// Counts a call while it is open.
struct Open(Arc<AtomicUsize>);

impl Open {
    fn new(count: &Arc<AtomicUsize>) -> Open {
        count.fetch_add(1, Ordering::Relaxed);
        Open(Arc::clone(count))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn serve<S>(shared: Arc<Shared>, socket: S, address: SocketAddr, listener: usize)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let abort = Arc::new(Notify::new());
    let peer = Arc::new(Peer {
        listener,
        address,
        abort: Arc::clone(&abort),
    });
    let calls = Arc::new(AtomicUsize::new(0));
    let mut draining = shared.draining.subscribe();
    let service = {
        let (shared, peer, calls) = (Arc::clone(&shared), Arc::clone(&peer), Arc::clone(&calls));
        service_fn(move |request| {
            let (shared, peer) = (Arc::clone(&shared), Arc::clone(&peer));
            let open = Open::new(&calls);
            async move {
                let answer = service::handle(shared, peer, request).await;
                drop(open);
                Ok::<_, Infallible>(answer)
            }
        })
    };
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PONG)
        .max_concurrent_streams(CALLS_MAX)
        .max_send_buf_size(SEND_BYTES)
        .max_header_list_size(HEADER_BYTES_MAX);
    let connection = builder.serve_connection(TokioIo::new(socket), service);
    tokio::pin!(connection);
    let mut look = interval(LOOK);
    let mut idle = 0;
    let mut is_closing = *draining.borrow_and_update();
    if is_closing {
        connection.as_mut().graceful_shutdown();
    }
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            () = abort.notified() => return,
            _ = draining.changed(), if !is_closing => {
                is_closing = true;
                connection.as_mut().graceful_shutdown();
            }
            _ = look.tick() => {
                let is_idle = calls.load(Ordering::Relaxed) == 0
                    && !shared.controls.has_connection(&abort);
                idle = if is_idle { idle + 1 } else { 0 };
                if idle > IDLE_LOOKS {
                    connection.as_mut().graceful_shutdown();
                    is_closing = true;
                }
                if idle > IDLE_LOOKS + 1 {
                    return;
                }
            }
        }
    }
}
