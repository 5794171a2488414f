//! A `geyser.Geyser` server in this process that plays the steps of a test.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::Stream;
use tonic::body::Body;
use tonic::codec::CompressionEncoding;
use tonic::server::Grpc;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::service_fn;
use yellowstone_grpc_proto::geyser::*;

/// Self-signed certificate of 127.0.0.1 for these tests only. Valid until 2126.
pub const CERTIFICATE: &str = include_str!("tls/cert.pem");
const KEY: &str = include_str!("tls/key.pem");

/// Maximum time that a test waits for an expected event.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// One step of the server. After the last step it closes the stream.
#[derive(Debug, Clone)]
pub enum Step {
    Send(Box<SubscribeUpdate>),
    Fail(Status),
    Pause(Duration),
    Hang,
}

/// One subscription received by the server.
#[derive(Debug, Clone)]
pub struct Seen {
    pub request: SubscribeRequest,
    pub x_token: Option<String>,
    pub at: Instant,
    pub pings: Vec<i32>,
}

/// Maps a request and the number of earlier requests to the steps of the stream.
type Play = dyn Fn(&SubscribeRequest, usize) -> Result<Vec<Step>, Status> + Send + Sync;

#[derive(Clone)]
struct Feed {
    play: Arc<Play>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A server on a free port. It stops on drop.
pub struct FeedServer {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    _runtime: tokio::runtime::Runtime,
}

impl FeedServer {
    pub fn start(
        play: impl Fn(&SubscribeRequest, usize) -> Result<Vec<Step>, Status> + Send + Sync + 'static,
    ) -> FeedServer {
        FeedServer::start_with(Server::builder(), play)
    }

    /// Starts a server with TLS and [`CERTIFICATE`].
    pub fn start_tls(
        play: impl Fn(&SubscribeRequest, usize) -> Result<Vec<Step>, Status> + Send + Sync + 'static,
    ) -> FeedServer {
        let tls = ServerTlsConfig::new().identity(Identity::from_pem(CERTIFICATE, KEY));
        FeedServer::start_with(Server::builder().tls_config(tls).unwrap(), play)
    }

    fn start_with(
        builder: Server,
        play: impl Fn(&SubscribeRequest, usize) -> Result<Vec<Step>, Status> + Send + Sync + 'static,
    ) -> FeedServer {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let feed = Feed {
            play: Arc::new(play),
            seen: Arc::default(),
        };
        let seen = Arc::clone(&feed.seen);
        let entered = runtime.enter();
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = incoming.local_addr().unwrap();
        let service = service_fn(move |request| {
            let feed = feed.clone();
            async move { Ok::<_, Infallible>(feed.answer(request).await) }
        });
        runtime.spawn(builder.serve_with_incoming(service, incoming));
        drop(entered);
        FeedServer {
            address,
            seen,
            _runtime: runtime,
        }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until `is_here` returns true for the received subscriptions, because requests arrive
    /// asynchronously.
    pub fn wait_seen(&self, what: &str, is_here: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        let begun = Instant::now();
        loop {
            let seen = self.seen();
            if is_here(&seen) {
                return seen;
            }
            assert!(begun.elapsed() < PATIENCE, "{what} never came: {seen:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn asked_slots(&self) -> Vec<Option<u64>> {
        self.seen()
            .iter()
            .map(|seen| seen.request.from_slot)
            .collect()
    }
}

type Updates = Pin<Box<dyn Stream<Item = Result<SubscribeUpdate, Status>> + Send>>;

impl Feed {
    async fn answer(self, request: http::Request<Body>) -> http::Response<Body> {
        if request.uri().path() != "/geyser.Geyser/Subscribe" {
            return Status::unimplemented("not part of the test").into_http();
        }
        Grpc::new(ProstCodec::<SubscribeUpdate, SubscribeRequest>::default())
            .max_encoding_message_size(64 << 20)
            .send_compressed(CompressionEncoding::Zstd)
            .streaming(service_fn(|request| self.subscribe(request)), request)
            .await
    }

    async fn subscribe(
        &self,
        request: Request<Streaming<SubscribeRequest>>,
    ) -> Result<Response<Updates>, Status> {
        let x_token = request
            .metadata()
            .get("x-token")
            .map(|t| t.to_str().unwrap().to_string());
        let mut requests = request.into_inner();
        let request = requests
            .message()
            .await?
            .ok_or(Status::cancelled("no request"))?;
        let index = {
            let mut seen = self.seen.lock().unwrap();
            seen.push(Seen {
                request: request.clone(),
                x_token,
                at: Instant::now(),
                pings: Vec::new(),
            });
            seen.len() - 1
        };
        let steps = (self.play)(&request, index)?;
        let seen = Arc::clone(&self.seen);
        tokio::spawn(async move {
            while let Ok(Some(request)) = requests.message().await {
                if let Some(ping) = request.ping {
                    seen.lock().unwrap()[index].pings.push(ping.id);
                }
            }
        });
        let stream = futures::stream::unfold(steps.into_iter(), |mut steps| async move {
            loop {
                match steps.next()? {
                    Step::Send(update) => return Some((Ok(*update), steps)),
                    Step::Fail(status) => return Some((Err(status), Vec::new().into_iter())),
                    Step::Pause(time) => tokio::time::sleep(time).await,
                    Step::Hang => futures::future::pending().await,
                }
            }
        });
        Ok(Response::new(Box::pin(stream)))
    }
}
