//! The calls of `geyser.Geyser`, and the check of health that clients make beside them.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures::stream::{poll_fn, unfold};
use futures::{Stream, StreamExt, ready};
use http::{Request, Response};
use hyper::body::Incoming;
use sys::shares::owner_of;
use sys::turns::Line;
use tokio::sync::Notify;
use tokio::time::timeout;
use tonic::body::Body;
use tonic::codec::CompressionEncoding;
use tonic::server::Grpc;
use tonic::{Status, Streaming};
use tonic_prost::ProstCodec;
use tower::service_fn;
use yellowstone_grpc_proto::geyser::*;
use yellowstone_grpc_proto::prost::Message;

use crate::calls::{Event, Verdict, lock};
use crate::codec::blocks::{Current, Pieces, Updates};
use crate::codec::{Asked, SubscribeCodec};
use crate::control::Control;
use crate::message::Update;
use crate::network::Network;
use crate::reflection;
use crate::shared::Shared;
use crate::status::{Refusal, shutting_down};
use crate::subscription::Subscription;
use crate::unary;

/// A request of a subscription, as by Yellowstone.
const REQUEST_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Requests of the other calls have a few fields.
const UNARY_BYTES_MAX: usize = 16 * 1024;
/// A longer text is no token.
const TOKEN_BYTES_MAX: usize = 256;
/// Time of the event loop to decide.
const VERDICT: Duration = Duration::from_secs(10);

/// What a call needs of its connection.
pub struct Peer {
    pub listener: usize,
    pub address: std::net::SocketAddr,
    /// Closes the connection.
    pub abort: Arc<Notify>,
}

struct Admitted {
    call: u64,
    network: Arc<Network>,
    access: Arc<str>,
    filters_max: usize,
}

/// A call by its path, and whether it is open until it ends.
fn method_of(path: &str) -> Option<(&'static str, bool)> {
    Some(match path {
        "/geyser.Geyser/Subscribe" => ("Subscribe", true),
        "/geyser.Geyser/SubscribeDeshred" => ("SubscribeDeshred", true),
        "/geyser.Geyser/SubscribeGossip" => ("SubscribeGossip", false),
        "/geyser.Geyser/SubscribeReplayInfo" => ("SubscribeReplayInfo", false),
        "/geyser.Geyser/Ping" => ("Ping", false),
        "/geyser.Geyser/GetLatestBlockhash" => ("GetLatestBlockhash", false),
        "/geyser.Geyser/GetBlockHeight" => ("GetBlockHeight", false),
        "/geyser.Geyser/GetSlot" => ("GetSlot", false),
        "/geyser.Geyser/IsBlockhashValid" => ("IsBlockhashValid", false),
        "/geyser.Geyser/GetVersion" => ("GetVersion", false),
        "/grpc.health.v1.Health/Check" => ("Health", false),
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
        | "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo" => {
            ("ServerReflectionInfo", false)
        }
        _ => return None,
    })
}

/// Answers one call. It fails nowhere: a refusal is an answer.
pub async fn handle(
    shared: Arc<Shared>,
    peer: Arc<Peer>,
    request: Request<Incoming>,
) -> Response<Body> {
    let Some((method, is_stream)) = method_of(request.uri().path()) else {
        return Status::unimplemented("no such method").into_http();
    };
    if !request
        .headers()
        .get("content-type")
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
    {
        return Status::invalid_argument("the content type must be application/grpc").into_http();
    }
    let token = request
        .headers()
        .get("x-token")
        .and_then(|token| token.to_str().ok())
        .filter(|token| !token.is_empty() && token.len() <= TOKEN_BYTES_MAX)
        .map(str::to_string);
    let Some(token) = token else {
        shared.counts.refuse();
        return Refusal::Unauthenticated.status().into_http();
    };
    match admit(&shared, &peer, token, method, is_stream).await {
        Ok(admitted) if is_stream => {
            let is_deshred = method == "SubscribeDeshred";
            subscribe(shared, peer, admitted, is_deshred, request).await
        }
        Ok(admitted) => answer(&shared, method, admitted, request).await,
        Err(status) => {
            shared.counts.refuse();
            status.into_http()
        }
    }
}

async fn admit(
    shared: &Arc<Shared>,
    peer: &Peer,
    token: String,
    method: &'static str,
    is_stream: bool,
) -> Result<Admitted, Status> {
    let busy = || Refusal::Unavailable.status();
    let owner = owner_of(peer.address);
    let _waiting = shared.waiting.take(owner).ok_or_else(busy)?;
    if shared.is_draining() {
        return Err(shutting_down());
    }
    let call = shared.next_call();
    let verdict = shared.pending.wait(call);
    let address: IpAddr = peer.address.ip().to_canonical();
    let event = Event::Call {
        call,
        listener: peer.listener,
        address,
        token,
        method,
        is_stream,
    };
    // Where the client leaves meanwhile, the verdict finds nobody.
    let forget = Forget { shared, call };
    shared.queue.push(&Line::Address(owner), event);
    let verdict = timeout(VERDICT, verdict).await;
    drop(forget);
    match verdict {
        Ok(Ok(Verdict::Admitted {
            network: index,
            access,
            filters_max,
        })) => Ok(Admitted {
            call,
            network: shared.network(index).ok_or_else(busy)?,
            access,
            filters_max,
        }),
        Ok(Ok(Verdict::Refused(refusal))) => Err(refusal.status()),
        _ => Err(busy()),
    }
}

struct Forget<'s> {
    shared: &'s Shared,
    call: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.shared.pending.forget(self.call);
    }
}

async fn subscribe(
    shared: Arc<Shared>,
    peer: Arc<Peer>,
    admitted: Admitted,
    is_deshred: bool,
    request: Request<Incoming>,
) -> Response<Body> {
    let Admitted {
        call,
        network,
        access,
        filters_max,
    } = admitted;
    let control = Arc::new(Control::new(call, access, Arc::clone(&peer.abort)));
    shared.controls.insert(&control);
    let current = Current::default();
    let (own_control, own_current) = (Arc::clone(&control), Arc::clone(&current));
    let service = service_fn(move |request: tonic::Request<Streaming<Asked>>| {
        let requests = request.into_inner();
        let (shared, control) = (Arc::clone(&shared), Arc::clone(&own_control));
        let network = Arc::clone(&network);
        let of = (filters_max, is_deshred);
        let subscription = Subscription::new(shared, control, network, of, requests);
        let updates = updates_of(subscription, Arc::clone(&own_current));
        async move { Ok::<_, Status>(tonic::Response::new(updates)) }
    });
    let response = Grpc::new(SubscribeCodec { is_deshred })
        .accept_compressed(CompressionEncoding::Gzip)
        .accept_compressed(CompressionEncoding::Zstd)
        .send_compressed(CompressionEncoding::Gzip)
        .send_compressed(CompressionEncoding::Zstd)
        .max_decoding_message_size(REQUEST_BYTES_MAX)
        .streaming(service, request)
        .await;
    response.map(|others| {
        Body::new(Updates {
            others,
            current,
            control,
        })
    })
}

/// The updates of a subscription but its blocks, which come to be `current`.
fn updates_of(
    subscription: Subscription,
    current: Current,
) -> impl Stream<Item = Result<Update, Status>> + Send {
    let mut updates = Box::pin(unfold(subscription, |mut subscription| async move {
        let update = subscription.next().await?;
        Some((update, subscription))
    }));
    poll_fn(
        move |context| match ready!(updates.poll_next_unpin(context)) {
            Some(Ok(Update::Block(block))) => match Pieces::new(*block) {
                Ok(pieces) => {
                    *lock(&current) = Some(pieces);
                    // The body that writes it asks again.
                    Poll::Pending
                }
                Err(status) => Poll::Ready(Some(Err(status))),
            },
            update => Poll::Ready(update),
        },
    )
}

async fn call<Q, A, F>(
    request: Request<Incoming>,
    run: impl Fn(Q) -> F + Send + Sync + 'static,
) -> Response<Body>
where
    Q: Message + Default + Send + 'static,
    A: Message + Send + 'static,
    F: Future<Output = Result<A, Status>> + Send + 'static,
{
    let service = service_fn(move |request: tonic::Request<Q>| {
        let answer = run(request.into_inner());
        async move { answer.await.map(tonic::Response::new) }
    });
    Grpc::new(ProstCodec::<A, Q>::default())
        .accept_compressed(CompressionEncoding::Gzip)
        .accept_compressed(CompressionEncoding::Zstd)
        .max_decoding_message_size(UNARY_BYTES_MAX)
        .unary(service, request)
        .await
}

/// In the one field of the answer of the health service, which is a number like that of a pong.
const SERVING: i32 = 1;

async fn answer(
    shared: &Arc<Shared>,
    method: &'static str,
    Admitted { network, .. }: Admitted,
    request: Request<Incoming>,
) -> Response<Body> {
    let own = move || Arc::clone(&network);
    match method {
        "GetSlot" => call(request, move |query| unary::slot(own(), query)).await,
        "GetBlockHeight" => call(request, move |query| unary::block_height(own(), query)).await,
        "GetLatestBlockhash" => {
            call(request, move |query| unary::latest_blockhash(own(), query)).await
        }
        "IsBlockhashValid" => {
            call(request, move |query| {
                unary::blockhash_validity(own(), query)
            })
            .await
        }
        "SubscribeReplayInfo" => call(request, move |query| unary::replay_info(own(), query)).await,
        "Ping" => {
            let pong = |PingRequest { count }| async move { Ok(PongResponse { count }) };
            call(request, pong).await
        }
        "GetVersion" => {
            let version = shared.version.clone();
            let run = move |GetVersionRequest {}| {
                let version = version.clone();
                async move { Ok(GetVersionResponse { version }) }
            };
            call(request, run).await
        }
        "Health" => {
            // Whatever it asks for is this service.
            let run = |(): ()| async { Ok(PongResponse { count: SERVING }) };
            call(request, run).await
        }
        "ServerReflectionInfo" => reflection::reflect(request).await,
        _ => Status::unimplemented("method disabled").into_http(),
    }
}
