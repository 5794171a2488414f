//! A peer of lanes that does what a test says.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lanes::{Identity, Lane, Options, Sent, State};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::rustls::client::danger::HandshakeSignatureValid;
use quinn::rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature};
use quinn::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use quinn::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use quinn::rustls::{self, DigitallySignedStruct, DistinguishedName, SignatureScheme};
use quinn::{Connection, Endpoint, ServerConfig, TransportConfig, VarInt};
use tokio::sync::oneshot;

pub const PROTOCOL: &[u8] = b"lunar-lander-tpu";
/// Of every sender that lanes know, but Node1, which has none.
const PROTOCOLS: [&[u8]; 6] = [
    PROTOCOL,
    b"astralane-tpu",
    b"solana-tpu",
    b"nb-tx/1",
    b"falcon-tx",
    b"solana-trader-submit-v1",
];

#[derive(Debug)]
struct AnyClient;

impl ClientCertVerifier for AnyClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, &algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = ring::default_provider().signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// How many streams of each kind a peer grants.
#[derive(Clone, Copy)]
pub struct Grants {
    pub uni: u32,
    pub bidi: u32,
}

pub const MANY: Grants = Grants { uni: 64, bidi: 64 };

/// Listens on a port of loopback, or a given one.
pub async fn listen(port: u16, grants: Grants) -> Endpoint {
    listen_as(port, grants, &PROTOCOLS).await.0
}

/// The same with these protocols; the second is the certificate that it shows.
pub async fn listen_as(
    port: u16,
    grants: Grants,
    protocols: &[&[u8]],
) -> (Endpoint, CertificateDer<'static>) {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["localhost".into()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_client_cert_verifier(Arc::new(AnyClient))
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    tls.alpn_protocols = protocols.iter().map(|one| one.to_vec()).collect();
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_uni_streams(VarInt::from_u32(grants.uni))
        .max_concurrent_bidi_streams(VarInt::from_u32(grants.bidi));
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()));
    config.transport_config(Arc::new(transport));
    let address: SocketAddr = ([127, 0, 0, 1], port).into();
    // A former endpoint may close its socket a moment after it was dropped.
    for _ in 0..100 {
        if let Ok(endpoint) = Endpoint::server(config.clone(), address) {
            return (endpoint, certificate.der().clone());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let endpoint = Endpoint::server(config, address).unwrap();
    (endpoint, certificate.der().clone())
}

pub fn port_of(endpoint: &Endpoint) -> u16 {
    endpoint.local_addr().unwrap().port()
}

/// The next connection of a client.
pub async fn accept(endpoint: &Endpoint) -> Connection {
    endpoint.accept().await.unwrap().await.unwrap()
}

/// The certificate that a client showed; empty without one.
pub fn certificate_of(connection: &Connection) -> Vec<u8> {
    let Some(chain) = connection.peer_identity() else {
        return Vec::new();
    };
    let chain = chain.downcast::<Vec<CertificateDer<'static>>>().unwrap();
    chain[0].to_vec()
}

/// A frame of an answer.
pub fn frame(status: u16, body: &[u8]) -> Vec<u8> {
    let mut frame = vec![1, 0];
    frame.extend(status.to_be_bytes());
    frame.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
    frame.extend(body);
    frame
}

pub fn options(port: u16) -> Options {
    Options {
        host: "127.0.0.1".into(),
        port,
        server_name: "lander.example".into(),
        protocol: PROTOCOL.to_vec(),
        identity: Identity::Named {
            key: "key-of-the-service".into(),
            is_protected: false,
            is_ed25519: false,
        },
        roots: None,
        greeting: None,
        is_answered: true,
        answer_head: None,
        answer_bytes_max: 1_030,
        streams_max: 4,
        stream_wait: Duration::from_millis(100),
        answer_wait: Duration::from_millis(500),
        connect_wait: Duration::from_secs(5),
        keep_alive: Duration::from_secs(2),
        idle: Duration::from_secs(6),
        pause_min: Duration::from_millis(20),
        pause_max: Duration::from_millis(200),
    }
}

/// The state of a lane once it is as wanted.
pub async fn until(lane: &Lane, is_wanted: impl Fn(&State) -> bool) -> State {
    let mut state = lane.state();
    while !is_wanted(&state) {
        let (tell, told) = oneshot::channel();
        lane.after(state.version, move |state| {
            let _ = tell.send(state);
        })
        .unwrap();
        state = told.await.unwrap();
    }
    state
}

pub async fn send(lane: &Lane, bytes: &[u8]) -> Sent {
    let (tell, told) = oneshot::channel();
    lane.send(bytes.to_vec(), move |sent| {
        let _ = tell.send(sent);
    })
    .unwrap();
    told.await.unwrap()
}
