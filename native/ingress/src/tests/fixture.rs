//! A listener with a small edge behind it, and clients.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, mpsc};
use std::thread;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, ConnectionError, Endpoint};
use rcgen::{CertificateParams, CustomExtension, DistinguishedName, DnType, KeyPair};
use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, SignatureScheme};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::close::Close;
use crate::dialect::Dialect;
use crate::event::Event;
use crate::listener::{Listener, Options};

pub const RESET_KEY: [u8; 32] = [7; 32];

/// Connection, stream and bytes.
pub type Transaction = (u32, u64, Vec<u8>);

/// What the edge has been told, and answers: tokens that begin with `good` are admitted as the
/// access that they name, and a transaction is answered by its length. `hold` is not answered.
pub struct Edge {
    pub listener: Arc<Listener>,
    pub address: SocketAddr,
    pub transactions: Mutex<UnboundedReceiver<Transaction>>,
    pub closed: Mutex<UnboundedReceiver<u32>>,
    /// Tokens of clients that were not admitted.
    pub refused: Mutex<UnboundedReceiver<String>>,
    socket: OwnedFd,
}

pub fn bind(port: u16) -> OwnedFd {
    let descriptor = sys::datagram::open("127.0.0.1", port).unwrap();
    // SAFETY: just opened, and owned by nothing else.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

pub fn open() -> Edge {
    open_at(bind(0), 0)
}

pub fn open_at(socket: OwnedFd, slot: u8) -> Edge {
    open_as(Dialect::LunarLander, socket, slot)
}

pub fn open_as(dialect: Dialect, socket: OwnedFd, slot: u8) -> Edge {
    let listener = Listener::open(Options {
        descriptor: socket.as_raw_fd(),
        slot,
        reset_key: RESET_KEY.to_vec(),
        pem: None,
        dialect,
    });
    let listener = Arc::new(listener.unwrap());
    let port = listener.port().unwrap();
    let (transaction, transactions) = unbounded_channel();
    let (end, closed) = unbounded_channel();
    let (refuse, refused) = unbounded_channel();
    let own = Arc::clone(&listener);
    thread::spawn(move || {
        loop {
            let (sender, events) = mpsc::channel();
            own.receive(Box::new(move |events| drop(sender.send(events))));
            let Ok(Some(events)) = events.recv() else {
                return;
            };
            for event in events {
                match event {
                    Event::Connected {
                        connection, token, ..
                    } if token.starts_with("good") => {
                        own.admit(connection, &token);
                    }
                    Event::Connected {
                        connection, token, ..
                    } => {
                        own.refuse(connection, Close::InvalidAuth);
                        let _ = refuse.send(token);
                    }
                    Event::Transaction {
                        connection,
                        stream,
                        bytes,
                    } => {
                        if bytes != b"hold" {
                            own.answer(stream, 200, bytes.len().to_string());
                        }
                        let _ = transaction.send((connection, stream, bytes));
                    }
                    Event::Closed { connection } => drop(end.send(connection)),
                }
            }
        }
    });
    Edge {
        listener,
        address: ([127, 0, 0, 1], port).into(),
        transactions: Mutex::new(transactions),
        closed: Mutex::new(closed),
        refused: Mutex::new(refused),
        socket,
    }
}

impl Edge {
    pub fn descriptor(&self) -> i32 {
        self.socket.as_raw_fd()
    }

    pub async fn next(&self) -> Transaction {
        self.transactions.lock().await.recv().await.unwrap()
    }
}

pub struct Certified {
    pub der: CertificateDer<'static>,
    pub key: PrivatePkcs8KeyDer<'static>,
}

/// As the published client makes it.
pub fn certificate(names: &[&str], protection: Option<&[u8]>) -> Certified {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let kinds = [DnType::CommonName, DnType::OrganizationName];
    for (kind, name) in kinds.into_iter().zip(names) {
        params.distinguished_name.push(kind, *name);
    }
    if let Some(value) = protection {
        let id = [2, 999, 1, 1];
        let extension = CustomExtension::from_oid_content(&id, value.to_vec());
        params.custom_extensions.push(extension);
    }
    let key = KeyPair::generate().unwrap();
    let made = params.self_signed(&key).unwrap();
    Certified {
        der: made.der().clone(),
        key: PrivatePkcs8KeyDer::from(key.serialize_der()),
    }
}

#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[derive(Debug)]
struct Shown(Arc<CertifiedKey>);

impl ResolvesClientCert for Shown {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

pub fn client_config(certified: Option<Certified>, protocol: &[u8]) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let signing = provider.key_provider;
    let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyServer(provider)));
    let mut tls = match certified {
        Some(Certified { der, key }) => {
            let key = signing.load_private_key(key.into()).unwrap();
            // Unlike a client of this library, one may show whatever it likes.
            let shown = Arc::new(CertifiedKey::new(vec![der], key));
            builder.with_client_cert_resolver(Arc::new(Shown(shown)))
        }
        None => builder.with_no_client_auth(),
    };
    if !protocol.is_empty() {
        tls.alpn_protocols = vec![protocol.to_vec()];
    }
    ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()))
}

/// A client of its own, so that each has another port.
pub fn client(certified: Option<Certified>, protocol: &[u8]) -> Endpoint {
    let mut endpoint = Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
    endpoint.set_default_client_config(client_config(certified, protocol));
    endpoint
}

pub const PROTOCOL: &[u8] = b"lunar-lander-tpu";

pub async fn connect_with(
    address: SocketAddr,
    certified: Option<Certified>,
) -> Result<Connection, ConnectionError> {
    let endpoint = client(certified, PROTOCOL);
    endpoint.connect(address, "any").unwrap().await
}

/// Connects with a token, which the client has been admitted with when this returns.
pub async fn connect(edge: &Edge, token: &str) -> Connection {
    let made = certificate(&[token], None);
    connect_with(edge.address, Some(made)).await.unwrap()
}

/// Status and words of the answer on a new stream; `None` where it is reset or the connection ends.
pub async fn ask(connection: &Connection, bytes: &[u8]) -> Option<(u16, String)> {
    let (mut send, mut receive) = connection.open_bi().await.ok()?;
    send.write_all(bytes).await.ok()?;
    send.finish().ok()?;
    read_answer(&mut receive).await
}

pub async fn read_answer(receive: &mut quinn::RecvStream) -> Option<(u16, String)> {
    let frame = receive.read_to_end(1_030).await.ok()?;
    assert_eq!(frame[..2], [1, 0]);
    let length = usize::from(u16::from_be_bytes([frame[4], frame[5]]));
    assert_eq!(frame.len(), 6 + length);
    let words = String::from_utf8(frame[6..].to_vec()).unwrap();
    Some((u16::from_be_bytes([frame[2], frame[3]]), words))
}

/// Code and words of the close of a connection.
pub async fn end_of(connection: &Connection) -> (u64, String) {
    match connection.closed().await {
        ConnectionError::ApplicationClosed(close) => (
            close.error_code.into_inner(),
            String::from_utf8(close.reason.to_vec()).unwrap(),
        ),
        other => panic!("{other}"),
    }
}
