//! Who a lane is for its peer: a self-signed certificate, made for the lane alone.

use quinn::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rcgen::{
    CertificateParams, CustomExtension, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256,
    PKCS_ED25519,
};
use sys::error::{Error, Result};

/// The extension of a connection whose transactions are to be protected: 2.999.1.1, TRUE.
const PROTECTED_OID: &[u64] = &[2, 999, 1, 1];
const DER_TRUE: [u8; 3] = [0x01, 0x01, 0xff];

/// The name in the certificate of a node.
const NODE_NAME: &str = "Solana node";

/// PKCS #8 of an Ed25519 seed, which follows.
const ED25519_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// What the certificate of a lane says. It is never printed: the name may be a key.
pub enum Identity {
    /// The key of the service as the common name, over a new ECDSA P-256 key.
    Named { key: String, is_protected: bool },
    /// An Ed25519 key that the peer knows, or a new one.
    Node { seed: Option<[u8; 32]> },
}

/// A certificate and its key.
pub struct Certificate {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Makes the certificate. What fails is never said with the name.
    pub fn certificate(&self) -> Result<Certificate> {
        let failed = |_| Error::Internal("a client certificate cannot be made".into());
        let key = match self {
            Identity::Named { .. } => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
            Identity::Node { seed: None } => KeyPair::generate_for(&PKCS_ED25519),
            Identity::Node { seed: Some(seed) } => {
                let pkcs8 = [ED25519_HEAD.as_slice(), seed].concat();
                let pkcs8 = PrivatePkcs8KeyDer::from(pkcs8.as_slice());
                KeyPair::from_pkcs8_der_and_sign_algo(&pkcs8, &PKCS_ED25519)
            }
        }
        .map_err(failed)?;
        let certificate = self.params().self_signed(&key).map_err(failed)?;
        Ok(Certificate {
            chain: vec![certificate.der().clone()],
            key: PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
        })
    }

    fn params(&self) -> CertificateParams {
        let mut params = CertificateParams::default();
        let mut name = DistinguishedName::new();
        match self {
            Identity::Named { key, is_protected } => {
                name.push(DnType::CommonName, key);
                if *is_protected {
                    let extension =
                        CustomExtension::from_oid_content(PROTECTED_OID, DER_TRUE.to_vec());
                    params.custom_extensions.push(extension);
                }
            }
            Identity::Node { .. } => name.push(DnType::CommonName, NODE_NAME),
        }
        params.distinguished_name = name;
        params
    }
}
