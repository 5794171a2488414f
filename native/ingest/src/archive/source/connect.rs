//! One connection to a server, plain or with TLS.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::Empty;
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, crypto};
use url::{Host, Url};

use super::failure::Failure;
use super::options::SourceOptions;

/// Bytes of one socket read, and so the maximum of one chunk in the queue.
pub const READ_BYTES: usize = 256 << 10;

/// Connects and sends one request. The caller awaits the response head.
pub(super) async fn send(
    url: &Url,
    request: Request<Empty<Bytes>>,
    options: &SourceOptions,
) -> Result<impl Future<Output = hyper::Result<hyper::Response<Incoming>>> + use<>, Failure> {
    let limit = Duration::from_millis(options.connect_ms);
    let mut sender = match tokio::time::timeout(limit, connect(url, options)).await {
        Ok(connected) => connected?,
        Err(_) => {
            let max = options.connect_ms;
            return Err(Failure::again(format!(
                "it does not answer a connection for {max} ms"
            )));
        }
    };
    Ok(async move { sender.send_request(request).await })
}

async fn connect(
    url: &Url,
    options: &SourceOptions,
) -> Result<http1::SendRequest<Empty<Bytes>>, Failure> {
    let port = url.port_or_known_default().unwrap_or(80);
    let host = url
        .host()
        .ok_or_else(|| Failure::last("the address has no host"))?;
    let connected = match host {
        Host::Domain(name) => TcpStream::connect((name, port)).await,
        Host::Ipv4(ip) => TcpStream::connect((ip, port)).await,
        Host::Ipv6(ip) => TcpStream::connect((ip, port)).await,
    };
    let tcp =
        connected.map_err(|error| Failure::again(format!("it cannot be reached: {error}")))?;
    if url.scheme() != "https" {
        return handshake(TokioIo::new(tcp)).await;
    }
    let name = match host {
        Host::Domain(name) => ServerName::try_from(name.to_owned())
            .map_err(|_| Failure::last("its name cannot be that of a certificate"))?,
        Host::Ipv4(ip) => ServerName::from(std::net::IpAddr::from(ip)),
        Host::Ipv6(ip) => ServerName::from(std::net::IpAddr::from(ip)),
    };
    let tls = TlsConnector::from(Arc::new(tls_config(options)?))
        .connect(name, tcp)
        .await;
    let tls = tls.map_err(|error| {
        let reason = format!("TLS fails: {error}");
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        match inner {
            // A retry gets the same server certificate.
            Some(rustls::Error::InvalidCertificate(_)) => Failure::Last(format!(
                "{reason}: the PEM of its authority belongs into networks.snapshotsCaFile"
            )),
            _ => Failure::again(reason),
        }
    })?;
    handshake(TokioIo::new(tls)).await
}

async fn handshake<T>(io: T) -> Result<http1::SendRequest<Empty<Bytes>>, Failure>
where
    T: Read + Write + Unpin + Send + 'static,
{
    let mut builder = http1::Builder::new();
    let (sender, connection) = builder
        .max_buf_size(READ_BYTES)
        .handshake(io)
        .await
        .map_err(|error| Failure::again(error.to_string()))?;
    // The body's reader receives its failures. The task ends when both are dropped.
    tokio::spawn(connection);
    Ok(sender)
}

/// Certificate authorities of the system, as DER. Used if no other authority is configured.
pub fn system_authorities() -> Vec<CertificateDer<'static>> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs().certs;
    // Skip system certificates that rustls cannot parse.
    let is_readable = |one: &CertificateDer<'static>| roots.add(one.clone()).is_ok();
    found.into_iter().filter(is_readable).collect()
}

fn tls_config(options: &SourceOptions) -> Result<ClientConfig, Failure> {
    let mut roots = RootCertStore::empty();
    match &options.ca_certificate_pem {
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
                let added = certificate.ok().and_then(|found| roots.add(found).ok());
                added.ok_or_else(|| Failure::last("caCertificatePem holds no certificate"))?;
            }
        }
        None => {
            roots.add_parsable_certificates(system_authorities());
        }
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::last(format!("TLS cannot be set up: {error}")))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
