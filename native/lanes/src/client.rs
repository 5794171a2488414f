//! The handshake of a lane.

use std::sync::Arc;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use quinn::rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use quinn::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use quinn::rustls::{self, DigitallySignedStruct, RootCertStore, SignatureScheme};
use quinn::{ClientConfig, IdleTimeout, TransportConfig, VarInt};
use sys::error::{Error, Result};

use crate::options::{Options, Roots};

/// The authorities of the system, and of `SSL_CERT_FILE`.
pub fn system_roots() -> Result<Roots> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(Error::Internal("the system has no authorities".into()));
    }
    Ok(Arc::new(roots))
}

/// Peers of most protocols have a certificate of their own making, and no client checks its chain
/// or name. That the peer has its key is checked.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

/// Streams that a peer may open, which no protocol of a lane needs.
const PEER_STREAMS: VarInt = VarInt::from_u32(0);

/// What a peer may send ahead on one stream, of which most answers need 1 KiB, and on all.
const STREAM_BYTES: VarInt = VarInt::from_u32(8 * 1024);
const CONNECTION_BYTES: VarInt = VarInt::from_u32(1024 * 1024);

/// The settings of every connection of a lane. Its certificate is made once.
pub fn config(options: &Options) -> Result<ClientConfig> {
    let failed = |what: &str| Error::Internal(format!("QUIC client: {what}"));
    let certificate = options.identity.certificate()?;
    let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|_| failed("TLS 1.3"))?;
    let builder = match &options.roots {
        Some(roots) => builder.with_root_certificates(Arc::clone(roots)),
        None => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(algorithms))),
    };
    let mut tls = match certificate {
        Some(certificate) => builder
            .with_client_auth_cert(certificate.chain, certificate.key)
            .map_err(|_| failed("the certificate"))?,
        None => builder.with_no_client_auth(),
    };
    if !options.protocol.is_empty() {
        tls.alpn_protocols = vec![options.protocol.clone()];
    }
    let crypto = QuicClientConfig::try_from(tls).map_err(|_| failed("the ciphers"))?;
    let mut transport = TransportConfig::default();
    let idle = IdleTimeout::try_from(options.idle).map_err(|_| failed("the idle time"))?;
    transport
        .max_idle_timeout(Some(idle))
        .keep_alive_interval(Some(options.keep_alive))
        .stream_receive_window(STREAM_BYTES)
        .receive_window(CONNECTION_BYTES)
        .max_concurrent_bidi_streams(PEER_STREAMS)
        .max_concurrent_uni_streams(PEER_STREAMS)
        .datagram_receive_buffer_size(None);
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    Ok(config)
}
