//! TLS of the listener: any client certificate is taken, because only the token in it counts.

use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{IdleTimeout, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, SignatureScheme};
use sys::error::{Error, Result};

use crate::dialect::Dialect;

/// Of one connection, in each direction of streams: as Lunar Lander.
const STREAMS_MAX: u32 = 64;
/// A transaction of the largest size, and one byte that tells that it is longer.
const STREAM_BYTES: u32 = 4_097;
/// Bytes of a connection that no stream has read yet: 32 transactions of the largest size.
const CONNECTION_BYTES: u32 = 128 * 1024;
/// What is not acknowledged: the longest answers on all streams.
const SEND_BYTES: u64 = 64 * 1024;
/// A client that is silent for so long is gone.
const IDLE: Duration = Duration::from_secs(30);
/// Bytes of a handshake that arrive in the wrong order: certificates have about 400.
const HANDSHAKE_BYTES: usize = 16 * 1024;

/// Handshakes that wait to be accepted, and what clients send with them meanwhile.
const INCOMING_MAX: usize = 1_024;
const INCOMING_BYTES: u64 = 8 * 1024;
const INCOMING_BYTES_ALL: u64 = 4 * 1024 * 1024;

/// A certificate with those that it was issued by, and its key.
pub struct Pem {
    pub chain: Vec<u8>,
    pub key: Vec<u8>,
}

/// Takes every chain. The signature of the handshake proves that the client has the key of its
/// certificate; who the client is, the token says.
#[derive(Debug)]
struct AnyClient(Arc<CryptoProvider>);

impl ClientCertVerifier for AnyClient {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    /// Its connection is closed with a reason, which an alert of TLS would not have.
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> std::result::Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms).map_err(|error| {
            match error {
                // The client shows the words, which are those of a certificate without a token.
                rustls::Error::InvalidCertificate(CertificateError::BadSignature) => error,
                rustls::Error::InvalidCertificate(_) => rustls::Error::General("bad_cert".into()),
                other => other,
            }
        })
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Internal(error.to_string())
}

type Certified = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// Clients do not verify it, and the token is the secret.
fn self_signed() -> Result<Certified> {
    let made = rcgen::generate_simple_self_signed(["slotline".to_string()]).map_err(failed)?;
    let key = PrivatePkcs8KeyDer::from(made.key_pair.serialize_der());
    Ok((vec![made.cert.der().clone()], key.into()))
}

fn parse(pem: &Pem) -> Result<Certified> {
    let chain = CertificateDer::pem_slice_iter(&pem.chain)
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|_| failed("the certificate is no PEM"))?;
    let key = PrivateKeyDer::from_pem_slice(&pem.key).map_err(|_| failed("the key is no PEM"))?;
    Ok((chain, key))
}

fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_uni_streams(VarInt::from_u32(STREAMS_MAX))
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS_MAX))
        .stream_receive_window(VarInt::from_u32(STREAM_BYTES))
        .receive_window(VarInt::from_u32(CONNECTION_BYTES))
        .send_window(SEND_BYTES)
        .max_idle_timeout(IdleTimeout::try_from(IDLE).ok())
        .crypto_buffer_size(HANDSHAKE_BYTES)
        .datagram_receive_buffer_size(None);
    transport
}

/// What connections are accepted with; without a certificate, with one that is made here.
pub fn server_config(pem: Option<&Pem>, dialect: Dialect) -> Result<ServerConfig> {
    let (chain, key) = pem.map_or_else(self_signed, parse)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(failed)?;
    let builder = if dialect.has_certificate() {
        builder.with_client_cert_verifier(Arc::new(AnyClient(provider)))
    } else {
        builder.with_no_client_auth()
    };
    let mut tls = builder.with_single_cert(chain, key).map_err(failed)?;
    // Any other fails the handshake.
    tls.alpn_protocols = dialect.protocols();
    // A resumed session would show the certificate of an earlier connection, and takes as long.
    tls.session_storage = Arc::new(NoServerSessionStorage {});
    tls.send_tls13_tickets = 0;
    let crypto = QuicServerConfig::try_from(tls).map_err(failed)?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config
        .transport_config(Arc::new(transport()))
        .max_incoming(INCOMING_MAX)
        .incoming_buffer_size(INCOMING_BYTES)
        .incoming_buffer_size_total(INCOMING_BYTES_ALL);
    Ok(config)
}
