//! The service `geyser.Geyser`.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::{SinkExt, StreamExt, channel::mpsc, stream::BoxStream};
use tokio::net::TcpListener;
use tokio::sync::broadcast::{self, error::RecvError};
use tonic::codec::CompressionEncoding;
use tonic::transport::{Server, server::TcpIncoming};
use tonic::{Request, Response, Status, Streaming};
use yellowstone_grpc_proto::geyser::geyser_server::{Geyser, GeyserServer};
use yellowstone_grpc_proto::geyser::subscribe_update::UpdateOneof as Update;
use yellowstone_grpc_proto::geyser::{
    CommitmentLevel, GetBlockHeightRequest, GetBlockHeightResponse, GetLatestBlockhashRequest,
    GetLatestBlockhashResponse, GetSlotRequest, GetSlotResponse, GetVersionRequest,
    GetVersionResponse, IsBlockhashValidRequest, IsBlockhashValidResponse, PingRequest,
    PongResponse, SubscribeDeshredRequest, SubscribeGossipRequest, SubscribeReplayInfoRequest,
    SubscribeReplayInfoResponse, SubscribeRequest, SubscribeUpdate, SubscribeUpdateDeshred,
    SubscribeUpdateGossip, SubscribeUpdatePing, SubscribeUpdatePong,
};

use crate::chain::{Chain, Tip};
use crate::item::{Item, Level};
use crate::subscription::Subscription;

/// Messages that may wait for the connection of a subscription.
const QUEUE_MAX: usize = 1_024;
/// Interval of pings, as of public servers.
const PING: Duration = Duration::from_secs(10);
const REQUEST_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Blocks for which a blockhash is valid.
const BLOCKHASH_BLOCKS: u64 = 150;

/// What the validator's calls become, for every subscription.
pub struct Feed {
    pub chain: Mutex<Chain>,
    pub items: broadcast::Sender<Arc<Item>>,
    pub x_token: Option<String>,
}

impl Feed {
    fn chain(&self) -> MutexGuard<'_, Chain> {
        self.chain.lock().unwrap_or_else(|held| held.into_inner())
    }

    fn check<T>(&self, request: &Request<T>) -> Result<(), Status> {
        let Some(wanted) = &self.x_token else {
            return Ok(());
        };
        let given = request.metadata().get("x-token");
        match given {
            Some(given) if given.as_bytes() == wanted.as_bytes() => Ok(()),
            _ => Err(Status::unauthenticated("No valid auth token")),
        }
    }

    fn tip(&self, level: i32) -> Result<Tip, Status> {
        let tip = self.chain().tip(level_of(level));
        tip.ok_or_else(|| Status::internal("no block yet"))
    }
}

fn level_of(level: i32) -> Level {
    match CommitmentLevel::try_from(level) {
        Ok(CommitmentLevel::Confirmed) => Level::Confirmed,
        Ok(CommitmentLevel::Finalized) => Level::Finalized,
        _ => Level::Processed,
    }
}

pub async fn serve(feed: Arc<Feed>, listener: TcpListener) {
    let service = GeyserServer::from_arc(Arc::new(Service { feed }))
        .accept_compressed(CompressionEncoding::Zstd)
        .send_compressed(CompressionEncoding::Zstd)
        .max_decoding_message_size(REQUEST_BYTES_MAX);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let server = Server::builder().add_service(service);
    if let Err(error) = server.serve_with_incoming(incoming).await {
        log::error!("the feed's server stopped: {error}");
    }
}

struct Service {
    feed: Arc<Feed>,
}

type Updates = BoxStream<'static, Result<SubscribeUpdate, Status>>;

#[tonic::async_trait]
impl Geyser for Service {
    type SubscribeStream = Updates;
    type SubscribeDeshredStream = BoxStream<'static, Result<SubscribeUpdateDeshred, Status>>;
    type SubscribeGossipStream = BoxStream<'static, Result<SubscribeUpdateGossip, Status>>;

    async fn subscribe(
        &self,
        request: Request<Streaming<SubscribeRequest>>,
    ) -> Result<Response<Updates>, Status> {
        self.feed.check(&request)?;
        let (updates, sent) = mpsc::channel(QUEUE_MAX);
        let client = Client {
            feed: self.feed.clone(),
            updates,
            subscription: None,
        };
        tokio::spawn(client.run(request.into_inner()));
        Ok(Response::new(sent.boxed()))
    }

    async fn subscribe_deshred(
        &self,
        _request: Request<Streaming<SubscribeDeshredRequest>>,
    ) -> Result<Response<Self::SubscribeDeshredStream>, Status> {
        Err(Status::unimplemented("not supported"))
    }

    async fn subscribe_gossip(
        &self,
        _request: Request<SubscribeGossipRequest>,
    ) -> Result<Response<Self::SubscribeGossipStream>, Status> {
        Err(Status::unimplemented("not supported"))
    }

    async fn subscribe_replay_info(
        &self,
        _request: Request<SubscribeReplayInfoRequest>,
    ) -> Result<Response<SubscribeReplayInfoResponse>, Status> {
        let first_available = self.feed.chain().first_stored();
        Ok(Response::new(SubscribeReplayInfoResponse {
            first_available,
        }))
    }

    async fn ping(&self, request: Request<PingRequest>) -> Result<Response<PongResponse>, Status> {
        let count = request.into_inner().count;
        Ok(Response::new(PongResponse { count }))
    }

    async fn get_latest_blockhash(
        &self,
        request: Request<GetLatestBlockhashRequest>,
    ) -> Result<Response<GetLatestBlockhashResponse>, Status> {
        let Tip { slot, block } = self
            .feed
            .tip(request.into_inner().commitment.unwrap_or(0))?;
        let height = block.meta.block_height.unwrap_or_default().block_height;
        Ok(Response::new(GetLatestBlockhashResponse {
            slot,
            blockhash: block.meta.blockhash.clone(),
            last_valid_block_height: height + BLOCKHASH_BLOCKS,
        }))
    }

    async fn get_block_height(
        &self,
        request: Request<GetBlockHeightRequest>,
    ) -> Result<Response<GetBlockHeightResponse>, Status> {
        let Tip { block, .. } = self
            .feed
            .tip(request.into_inner().commitment.unwrap_or(0))?;
        let block_height = block.meta.block_height.unwrap_or_default().block_height;
        Ok(Response::new(GetBlockHeightResponse { block_height }))
    }

    async fn get_slot(
        &self,
        request: Request<GetSlotRequest>,
    ) -> Result<Response<GetSlotResponse>, Status> {
        let Tip { slot, .. } = self
            .feed
            .tip(request.into_inner().commitment.unwrap_or(0))?;
        Ok(Response::new(GetSlotResponse { slot }))
    }

    async fn is_blockhash_valid(
        &self,
        request: Request<IsBlockhashValidRequest>,
    ) -> Result<Response<IsBlockhashValidResponse>, Status> {
        let request = request.into_inner();
        let level = request.commitment.unwrap_or(0);
        let Tip { slot, block } = self.feed.tip(level)?;
        let tip = block.meta.block_height.unwrap_or_default().block_height;
        let height = self
            .feed
            .chain()
            .height_of(&request.blockhash, level_of(level));
        let valid = height.is_some_and(|height| tip <= height + BLOCKHASH_BLOCKS);
        Ok(Response::new(IsBlockhashValidResponse { slot, valid }))
    }

    async fn get_version(
        &self,
        _request: Request<GetVersionRequest>,
    ) -> Result<Response<GetVersionResponse>, Status> {
        let version = serde_json::json!({
            "version": {
                "package": env!("CARGO_PKG_NAME"),
                "version": env!("CARGO_PKG_VERSION"),
                "proto": "14.0.1",
                "solana": "4.2.2",
            },
            "extra": {},
        });
        Ok(Response::new(GetVersionResponse {
            version: version.to_string(),
        }))
    }
}

/// The client has gone.
struct Gone;

struct Client {
    feed: Arc<Feed>,
    updates: mpsc::Sender<Result<SubscribeUpdate, Status>>,
    subscription: Option<Subscription>,
}

impl Client {
    async fn run(mut self, mut requests: Streaming<SubscribeRequest>) {
        let mut items = None;
        let mut pings = tokio::time::interval(PING);
        loop {
            let handled = tokio::select! {
                request = requests.next() => match request {
                    Some(Ok(request)) => self.receive(request, &mut items).await,
                    Some(Err(_)) | None => return,
                },
                item = next(&mut items) => match item {
                    Ok(item) => self.send(&item).await,
                    Err(RecvError::Lagged(_)) => self.end(Status::internal("lagged to receive geyser messages")).await,
                    Err(RecvError::Closed) => return,
                },
                _ = pings.tick() => self.direct(Update::Ping(SubscribeUpdatePing {})).await,
            };
            if handled.is_err() {
                return;
            }
        }
    }

    /// Replaces all filters.
    async fn receive(
        &mut self,
        request: SubscribeRequest,
        items: &mut Option<broadcast::Receiver<Arc<Item>>>,
    ) -> Result<(), Gone> {
        if let Some(ping) = request.ping {
            return self
                .direct(Update::Pong(SubscribeUpdatePong { id: ping.id }))
                .await;
        }
        let from_slot = request.from_slot;
        let subscription = match Subscription::new(request) {
            Ok(subscription) => subscription,
            Err(status) => return self.end(status).await,
        };
        let level = subscription.level;
        let (replay, live) = {
            let chain = self.feed.chain();
            let replay = from_slot.map(|from_slot| chain.replay(level, from_slot));
            (replay.transpose(), self.feed.items.subscribe())
        };
        self.subscription = Some(subscription);
        if from_slot.is_some() || items.is_none() {
            *items = Some(live);
        }
        match replay {
            Ok(replay) => {
                for item in replay.into_iter().flatten() {
                    self.send(&item).await?;
                }
                Ok(())
            }
            Err(first) => {
                let from = from_slot.unwrap_or_default();
                let text =
                    format!("broadcast from {from} is not available, last available: {first}");
                self.end(Status::out_of_range(text)).await
            }
        }
    }

    async fn send(&mut self, item: &Item) -> Result<(), Gone> {
        let Some(subscription) = &self.subscription else {
            return Ok(());
        };
        for message in subscription.messages(item) {
            self.updates.send(Ok(message)).await.map_err(|_| Gone)?;
        }
        Ok(())
    }

    async fn direct(&mut self, update: Update) -> Result<(), Gone> {
        let message = SubscribeUpdate {
            filters: Vec::new(),
            update_oneof: Some(update),
            created_at: Some(std::time::SystemTime::now().into()),
        };
        self.updates.send(Ok(message)).await.map_err(|_| Gone)
    }

    async fn end(&mut self, status: Status) -> Result<(), Gone> {
        let _ = self.updates.send(Err(status)).await;
        Err(Gone)
    }
}

/// Nothing before the first request.
async fn next(items: &mut Option<broadcast::Receiver<Arc<Item>>>) -> Result<Arc<Item>, RecvError> {
    match items {
        Some(items) => items.recv().await,
        None => std::future::pending().await,
    }
}
