//! The gRPC call `geyser.Geyser/Subscribe`: a stream of requests, and a stream of updates.

use std::time::Duration;

use futures::channel::mpsc;
use http::uri::PathAndQuery;
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::codec::{CompressionEncoding, Streaming};
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;
use yellowstone_grpc_proto::geyser::{
    GetVersionRequest, GetVersionResponse, SubscribeRequest, SubscribeUpdate,
};
use yellowstone_grpc_proto::prost::Message;

use super::config::GeyserConfig;
use super::failure::Failure;
use super::server_version::ServerVersion;

/// Requests that may wait to be sent: one answer per ping.
const REQUESTS_MAX: usize = 1000;
/// Maximum time to answer with a version, which only the log needs.
const VERSION_MAX: Duration = Duration::from_secs(5);
const VERSION_BYTES_MAX: usize = 64 * 1024;

/// The updates of a subscription.
pub type Updates = Streaming<SubscribeUpdate>;

/// An open subscription. Dropping either half ends it.
pub struct Subscription<Q = SubscribeRequest, A = SubscribeUpdate> {
    pub requests: mpsc::Sender<Q>,
    pub updates: Streaming<A>,
}

/// The question for the server's version, on the connection of a subscription.
pub struct VersionQuery {
    channel: Channel,
    token: Option<AsciiMetadataValue>,
}

impl VersionQuery {
    /// The server's version; `None` where it does not say one in time.
    pub async fn ask(self) -> Option<ServerVersion> {
        timeout(VERSION_MAX, self.request()).await.ok().flatten()
    }

    async fn request(self) -> Option<ServerVersion> {
        let mut grpc = Grpc::new(self.channel).max_decoding_message_size(VERSION_BYTES_MAX);
        grpc.ready().await.ok()?;
        let mut call = Request::new(GetVersionRequest {});
        if let Some(token) = self.token {
            call.metadata_mut().insert("x-token", token);
        }
        let path = PathAndQuery::from_static("/geyser.Geyser/GetVersion");
        let codec = ProstCodec::<GetVersionRequest, GetVersionResponse>::default();
        let response = grpc.unary(call, path, codec).await.ok()?;
        Some(ServerVersion::of(&response.into_inner().version))
    }
}

/// Connects, and subscribes with `request`.
pub async fn subscribe(
    config: &GeyserConfig,
    request: SubscribeRequest,
) -> Result<(Subscription, VersionQuery), Failure> {
    let token = token_of(config)?;
    let channel = connect(config).await?;
    let query = VersionQuery {
        channel: channel.clone(),
        token: token.clone(),
    };
    let path = "/geyser.Geyser/Subscribe";
    let subscription = timeout(
        Duration::from_millis(config.block_silence_ms),
        open(config, channel, token, path, request),
    )
    .await
    .map_err(|_| no_answer(config))?
    .map_err(|status| Failure::from_status(config, &status))?;
    Ok((subscription, query))
}

pub(super) fn no_answer(config: &GeyserConfig) -> Failure {
    Failure::Stuck(format!(
        "no answer to Subscribe for {} ms (blockSilenceMs)",
        config.block_silence_ms
    ))
}

pub(super) fn token_of(config: &GeyserConfig) -> Result<Option<AsciiMetadataValue>, Failure> {
    let token = config.x_token.as_deref().map(AsciiMetadataValue::try_from);
    // The error's own text contains the token.
    token
        .transpose()
        .map_err(|_| Failure::Refused("x_token holds characters that a header cannot".to_string()))
}

pub(super) async fn connect(config: &GeyserConfig) -> Result<Channel, Failure> {
    let failed = |error| Failure::from_transport(config, &error);
    let endpoint = endpoint_of(config).map_err(failed)?;
    let connect_ms = config.connect_timeout_ms;
    // The endpoint's own timeout covers TCP only. This one covers a peer that accepts and sends
    // nothing.
    timeout(Duration::from_millis(connect_ms), endpoint.connect())
        .await
        .map_err(|_| {
            Failure::Passing(format!(
                "no connection to {} within {connect_ms} ms (connectTimeoutMs)",
                config.shown_endpoint()
            ))
        })?
        .map_err(failed)
}

fn endpoint_of(config: &GeyserConfig) -> Result<Endpoint, tonic::transport::Error> {
    let keepalive_interval = Duration::from_millis(config.keepalive_interval_ms);
    let endpoint = Endpoint::from_shared(config.endpoint.clone())?
        .connect_timeout(Duration::from_millis(config.connect_timeout_ms))
        .http2_keep_alive_interval(keepalive_interval)
        .keep_alive_timeout(Duration::from_millis(config.keepalive_timeout_ms))
        .keep_alive_while_idle(true)
        .tcp_keepalive(Some(keepalive_interval))
        .tcp_nodelay(true)
        .initial_stream_window_size(config.window_bytes)
        .initial_connection_window_size(config.window_bytes);
    if !config.endpoint.starts_with("https://") {
        return Ok(endpoint);
    }
    endpoint.tls_config(match &config.ca_certificate_pem {
        Some(pem) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)),
        None => ClientTlsConfig::new().with_native_roots(),
    })
}

pub(super) async fn open<Q, A>(
    config: &GeyserConfig,
    channel: Channel,
    token: Option<AsciiMetadataValue>,
    path: &'static str,
    request: Q,
) -> Result<Subscription<Q, A>, Status>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let mut grpc = Grpc::new(channel).max_decoding_message_size(config.decode_bytes_max);
    if config.accept_zstd {
        grpc = grpc.accept_compressed(CompressionEncoding::Zstd);
    }
    grpc.ready()
        .await
        .map_err(|error| Status::unknown(format!("Service was not ready: {error}")))?;
    let (mut requests, sent) = mpsc::channel(REQUESTS_MAX);
    requests
        .try_send(request)
        .map_err(|error| Status::internal(error.to_string()))?;
    let mut call = Request::new(sent);
    if let Some(token) = token {
        call.metadata_mut().insert("x-token", token);
    }
    let path = PathAndQuery::from_static(path);
    let response = grpc.streaming(call, path, ProstCodec::default()).await?;
    Ok(Subscription {
        requests,
        updates: response.into_inner(),
    })
}
