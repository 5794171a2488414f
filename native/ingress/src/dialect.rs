//! How clients of one sender show their token, and how their streams are answered. Edges take those
//! of Lunar Lander; the others are for the sandbox, whose servers stand for other senders.

use std::time::Duration;

use quinn::{Connection, RecvStream, SendStream};
use rustls::pki_types::CertificateDer;
use tokio::time::timeout;

use crate::certificate::{Identity, TOKEN_BYTES_MAX, identify};
use crate::frame;

/// For a client to write its greeting.
const GREETED: Duration = Duration::from_secs(5);

/// Of an answer of Node1; its published client takes 64 KiB.
const NODE1_TEXT_BYTES_MAX: usize = 1024;

/// Before each transaction, and before each answer of Falcon.
const FALCON_TRANSACTION: u8 = 1;

/// The clients of one sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    #[default]
    LunarLander,
    NextBlock,
    Node1,
    Glaive,
    Falcon,
}

const ALL: [(Dialect, &str); 5] = [
    (Dialect::LunarLander, "lunar-lander"),
    (Dialect::NextBlock, "nextblock"),
    (Dialect::Node1, "node1"),
    (Dialect::Glaive, "glaive"),
    (Dialect::Falcon, "falcon"),
];

/// What a client that is refused or admitted waits for.
pub struct Greeted {
    pub identity: Identity,
    answers: Option<SendStream>,
}

impl Greeted {
    /// Answers the first stream, if that is answered.
    pub async fn answer(self, is_known: bool) {
        if let Some(mut answers) = self.answers {
            // What fails here has ended the connection.
            let _ = answers.write_all(&[u8::from(!is_known)]).await;
            let _ = answers.finish();
        }
    }
}

impl Dialect {
    pub fn named(name: &str) -> Option<Dialect> {
        ALL.into_iter()
            .find(|(_, known)| *known == name)
            .map(|(dialect, _)| dialect)
    }

    /// Protocols of the handshake (ALPN); without one, clients ask for none.
    pub fn protocols(self) -> Vec<Vec<u8>> {
        let protocol: &[u8] = match self {
            Dialect::LunarLander => b"lunar-lander-tpu",
            Dialect::NextBlock => b"nb-tx/1",
            Dialect::Node1 => return Vec::new(),
            Dialect::Glaive => b"solana-tpu",
            Dialect::Falcon => b"falcon-tx",
        };
        vec![protocol.to_vec()]
    }

    pub fn has_certificate(self) -> bool {
        !matches!(self, Dialect::NextBlock | Dialect::Node1)
    }

    /// Who has connected; `None` where that cannot be read.
    pub async fn greet(self, connection: &Connection) -> Option<Greeted> {
        let read = async {
            match self {
                Dialect::LunarLander | Dialect::Falcon => Some(Greeted {
                    identity: identity_of(connection)?,
                    answers: None,
                }),
                Dialect::NextBlock | Dialect::Node1 => {
                    let (answers, stream) = connection.accept_bi().await.ok()?;
                    let bytes = read(stream).await?;
                    let token = match self {
                        Dialect::NextBlock => String::from_utf8(bytes).ok()?,
                        _ => uuid(bytes.try_into().ok()?),
                    };
                    Some(Greeted {
                        identity: unprotected(token),
                        answers: Some(answers),
                    })
                }
                Dialect::Glaive => {
                    let bytes = read(connection.accept_uni().await.ok()?).await?;
                    let (key, flags) = bytes.split_first_chunk::<16>()?;
                    let wants_protection = match flags {
                        [0] => false,
                        [1] => true,
                        _ => return None,
                    };
                    Some(Greeted {
                        identity: Identity {
                            token: uuid(*key),
                            wants_protection,
                        },
                        answers: None,
                    })
                }
            }
        };
        timeout(GREETED, read).await.ok()?
    }

    /// The transaction on a stream that is answered, or not.
    pub fn transaction(self, mut bytes: Vec<u8>, is_answered: bool) -> Vec<u8> {
        if self == Dialect::Falcon && is_answered && bytes.first() == Some(&FALCON_TRANSACTION) {
            bytes.remove(0);
        }
        bytes
    }

    /// The bytes of an answer.
    pub fn encode(self, status: u16, words: &str) -> Vec<u8> {
        match self {
            Dialect::Node1 => {
                let text = frame::cut(words, NODE1_TEXT_BYTES_MAX);
                let length = text.len() as u32;
                [&status.to_be_bytes()[..], &length.to_be_bytes(), text].concat()
            }
            Dialect::Falcon => vec![FALCON_TRANSACTION, falcon_code(status, words)],
            _ => frame::encode(status, words),
        }
    }
}

/// The second byte of an answer of Falcon.
fn falcon_code(status: u16, words: &str) -> u8 {
    match status {
        200 => 0,
        429 => 1,
        _ if words.contains("signature") => 2,
        _ if words.contains("tip") => 3,
        400 => 4,
        _ => 6,
    }
}

fn identity_of(connection: &Connection) -> Option<Identity> {
    let shown = connection.peer_identity()?;
    let chain = shown.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    identify(chain.first()?)
}

fn unprotected(token: String) -> Identity {
    Identity {
        token,
        wants_protection: false,
    }
}

async fn read(mut stream: RecvStream) -> Option<Vec<u8>> {
    stream.read_to_end(TOKEN_BYTES_MAX).await.ok()
}

/// The text of a UUID.
fn uuid(bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..],
    ];
    parts.join("-")
}
