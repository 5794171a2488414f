//! TLS of a listener: its certificates, of which a client that names a host gets one of that host.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use sys::error::{Error, Result};

/// HTTP/2, which gRPC is spoken over.
const PROTOCOL: &[u8] = b"h2";

/// A certificate with those that it was issued by, and its key.
pub struct Pem {
    pub chain: Vec<u8>,
    pub key: Vec<u8>,
}

/// The certificates of one listener, the first for clients that name a host of none.
#[derive(Debug, Default)]
pub struct Certificates(RwLock<Vec<Option<Arc<CertifiedKey>>>>);

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Internal(error.to_string())
}

fn certified(pem: &Pem) -> Result<CertifiedKey> {
    let chain = CertificateDer::pem_slice_iter(&pem.chain)
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|_| failed("the certificate is no PEM"))?;
    let key = PrivateKeyDer::from_pem_slice(&pem.key).map_err(|_| failed("the key is no PEM"))?;
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain, key, &provider).map_err(failed)
}

impl Certificates {
    /// Uses a certificate for new connections.
    pub fn set(&self, index: usize, pem: &Pem) -> Result<()> {
        let certified = Arc::new(certified(pem)?);
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() <= index {
            all.resize(index + 1, None);
        }
        all[index] = Some(certified);
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .is_empty()
    }
}

fn is_valid_for(certified: &CertifiedKey, name: &ServerName<'_>) -> bool {
    certified
        .cert
        .first()
        .and_then(|der| ParsedCertificate::try_from(der).ok())
        .is_some_and(|parsed| verify_server_name(&parsed, name).is_ok())
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let name = hello
            .server_name()
            .and_then(|name| ServerName::try_from(name).ok());
        let named = name.and_then(|name| {
            all.iter()
                .flatten()
                .find(|certified| is_valid_for(certified, &name))
        });
        named.or_else(|| all.iter().flatten().next()).cloned()
    }
}

/// What connections are accepted with.
pub fn server_config(certificates: &Arc<Certificates>) -> Result<Arc<rustls::ServerConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let resolver: Arc<dyn ResolvesServerCert> = Arc::clone(certificates) as _;
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .with_no_client_auth()
        .with_cert_resolver(resolver);
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(Arc::new(config))
}
