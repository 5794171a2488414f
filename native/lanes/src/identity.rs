//! Who a lane is for its peer: mostly a self-signed certificate, made for the lane alone.

use quinn::rustls::pki_types::pem::PemObject;
use quinn::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rcgen::{
    CertificateParams, CustomExtension, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256,
    PKCS_ED25519,
};
use sys::error::{Error, Result};

/// The extension of a connection whose transactions are to be protected: 2.999.1.1, TRUE.
const PROTECTED_OID: &[u64] = &[2, 999, 1, 1];
const DER_TRUE: [u8; 3] = [0x01, 0x01, 0xff];

/// The certificate of a node as Agave's clients show it (`new_dummy_x509_certificate` of
/// solana-tls-utils 4.2.2): the public key follows the head, and the tail has `localhost` and a
/// signature of ones, which nobody verifies. Peers may look for the key at its place.
const NODE_HEAD: &[u8] = b"\
    \x30\x81\xf6\x30\x81\xa9\xa0\x03\x02\x01\x02\x02\x08\x01\x01\x01\x01\x01\x01\x01\x01\x30\x05\
    \x06\x03\x2b\x65\x70\x30\x16\x31\x14\x30\x12\x06\x03\x55\x04\x03\x0c\x0bSolana node\
    \x30\x20\x17\x0d700101000000Z\x18\x0f40960101000000Z\x30\x00\
    \x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";
const NODE_TAIL: &[u8] = b"\
    \xa3\x29\x30\x27\x30\x17\x06\x03\x55\x1d\x11\x01\x01\xff\x04\x0d\x30\x0b\x82\x09localhost\
    \x30\x0c\x06\x03\x55\x1d\x13\x01\x01\xff\x04\x02\x30\x00\x30\x05\x06\x03\x2b\x65\x70\x03\x41\x00";
const NODE_SIGNATURE: [u8; 64] = [0xff; 64];

/// PKCS #8 of an Ed25519 seed, which follows.
const ED25519_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// What the certificate of a lane says. It is never printed: the name may be a key.
pub enum Identity {
    /// The key of the service as the common name, over a new key of ECDSA P-256 or Ed25519.
    Named {
        key: String,
        is_protected: bool,
        is_ed25519: bool,
    },
    /// An Ed25519 key that the peer knows, or a new one.
    Node { seed: Option<[u8; 32]> },
    /// PEM of a certificate that the peer has issued, with its chain and its private key.
    Issued(String),
    /// Without a certificate.
    Anonymous,
}

/// A certificate and its key.
pub struct Certificate {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

fn failed<T>(_: T) -> Error {
    Error::Internal("a client certificate cannot be made".into())
}

impl Identity {
    /// Makes the certificate; absent where none is shown. What fails is never said with the name.
    pub fn certificate(&self) -> Result<Option<Certificate>> {
        let (key, der) = match self {
            Identity::Anonymous => return Ok(None),
            Identity::Issued(pem) => return issued(pem).map(Some),
            Identity::Named {
                key: name,
                is_protected,
                is_ed25519,
            } => {
                let key = if *is_ed25519 {
                    KeyPair::generate_for(&PKCS_ED25519)
                } else {
                    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)
                }
                .map_err(failed)?;
                let params = named(name, *is_protected);
                let der = params.self_signed(&key).map_err(failed)?.der().clone();
                (key, der)
            }
            Identity::Node { seed } => {
                let key = match seed {
                    None => KeyPair::generate_for(&PKCS_ED25519),
                    Some(seed) => {
                        let pkcs8 = [ED25519_HEAD.as_slice(), seed].concat();
                        let pkcs8 = PrivatePkcs8KeyDer::from(pkcs8.as_slice());
                        KeyPair::from_pkcs8_der_and_sign_algo(&pkcs8, &PKCS_ED25519)
                    }
                }
                .map_err(failed)?;
                let der = node(key.public_key_raw()).into();
                (key, der)
            }
        };
        Ok(Some(Certificate {
            chain: vec![der],
            key: PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
        }))
    }
}

/// Certificates and a key in one text, in any order.
fn issued(pem: &str) -> Result<Certificate> {
    let wrong = || Error::Internal("the credential is no certificate with its key in PEM".into());
    let chain = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(|_| wrong())?;
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| wrong())?;
    if chain.is_empty() {
        return Err(wrong());
    }
    Ok(Certificate { chain, key })
}

/// A certificate with a name, as rcgen makes it by default.
fn named(key: &str, is_protected: bool) -> CertificateParams {
    let mut params = CertificateParams::default();
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, key);
    params.distinguished_name = name;
    if is_protected {
        let extension = CustomExtension::from_oid_content(PROTECTED_OID, DER_TRUE.to_vec());
        params.custom_extensions.push(extension);
    }
    params
}

/// The certificate of a node with this public key.
fn node(public: &[u8]) -> Vec<u8> {
    [NODE_HEAD, public, NODE_TAIL, &NODE_SIGNATURE].concat()
}
