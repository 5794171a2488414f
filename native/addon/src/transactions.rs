//! Checks signed transactions on a separate pool, `verify`, so that scans never delay signatures.

use std::sync::{Arc, Mutex, PoisonError};

use napi::bindgen_prelude::{BigInt, Object, Uint8Array};
use napi::{Env, JsString};
use napi_derive::napi;
use primitives::Pubkey;
use primitives::encoding::{decode_long_base58, decode_pubkeys, encode_pubkey};
use sys::error::{Error, Result as Checked};
use sys::pool::{self, Pool, Share};
use transaction::{
    BYTES_MAX, Decoded, Lifetime, Member, Problem, RECORDS_MAX, Rules, SignatureRule, TipClass,
    check_batch, check_bundle, check_transaction, decode, frame_batch, read_bundle_id,
    read_signature, text_length,
};

use crate::arguments::{exact, whole, wrong};
use crate::failure::{Result, guard};
use crate::js_bytes::Bytes;
use crate::promises::deferred;
use crate::tasks::{NICENESS_MAX, THREADS_MAX};

/// Addresses whose tips are summed together.
#[napi(object, object_to_js = false)]
pub struct TipClassData {
    #[napi(ts_type = "readonly string[]")]
    pub addresses: Vec<String>,
    /// The minimum of their sum.
    pub floor_lamports: BigInt,
}

/// What the checks of one route count.
#[napi(object, object_to_js = false)]
pub struct TransactionRules {
    /// They must not share an address.
    #[napi(ts_type = "readonly TipClassData[]")]
    pub tip_classes: Vec<TipClassData>,
    /// Programs that do not count as applications.
    #[napi(ts_type = "readonly string[]")]
    pub exempt_programs: Vec<String>,
    /// Which signatures are valid.
    #[napi(ts_type = "'strict' | 'cofactored'")]
    pub signature_rule: String,
}

/// The pool of one process that checks signatures.
#[napi(object, object_to_js = false)]
pub struct VerifyPoolOptions {
    pub verify_threads: f64,
    /// Added to the niceness of its threads.
    pub verify_niceness: f64,
    /// Requests that may wait for it.
    pub verify_queue_max: f64,
}

impl TransactionRules {
    fn to_rules(&self) -> Checked<Rules> {
        let mut tip_classes: Vec<TipClass> = Vec::with_capacity(self.tip_classes.len());
        for class in &self.tip_classes {
            let addresses = decode_pubkeys(&class.addresses)?;
            let mut others = tip_classes.iter().flat_map(|other| &other.addresses);
            if others.any(|other| addresses.contains(other)) {
                return Err(wrong("a tip address is in two classes"));
            }
            tip_classes.push(TipClass {
                addresses,
                floor_lamports: exact(&class.floor_lamports, "floorLamports")?,
            });
        }
        Ok(Rules {
            tip_classes,
            exempt_programs: decode_pubkeys(&self.exempt_programs)?,
            signature_rule: match self.signature_rule.as_str() {
                "strict" => SignatureRule::Strict,
                "cofactored" => SignatureRule::Cofactored,
                _ => return Err(wrong("signatureRule")),
            },
        })
    }
}

static VERIFY: Mutex<Option<Arc<Pool>>> = Mutex::new(None);

/// The process's pool. The first options create it, later ones share it.
fn verify_pool(options: &VerifyPoolOptions) -> Checked<Arc<Pool>> {
    let threads = whole(options.verify_threads, THREADS_MAX, "verifyThreads")? as usize;
    let niceness = whole(options.verify_niceness, NICENESS_MAX, "verifyNiceness")? as i32;
    let queue_max = whole(options.verify_queue_max, u32::MAX, "verifyQueueMax")? as usize;
    let mut pool = VERIFY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pool.as_ref() {
        return Ok(Arc::clone(pool));
    }
    let options = pool::Options {
        threads,
        niceness,
        queue_max,
        share: Share::Whole,
    };
    let made = Arc::new(Pool::new("verify", options)?);
    *pool = Some(Arc::clone(&made));
    Ok(made)
}

/// What the frames of a batch hold.
#[napi(object, object_from_js = false)]
pub struct FrameVerdict {
    /// Complete records before the first fault.
    pub count: u32,
    /// The fault, with its record and offset.
    pub problem: Option<String>,
}

/// Why a transaction cannot be used.
#[napi(object, object_from_js = false)]
pub struct ProblemData {
    #[napi(ts_type = "'base64' | 'size' | 'structure'")]
    pub kind: &'static str,
    /// Why the structure is wrong; otherwise empty.
    pub reason: String,
}

/// The durable nonce of a transaction.
#[napi(object, object_from_js = false)]
pub struct NonceData {
    /// Base58 of its account, if the transaction itself contains the address.
    pub account: Option<String>,
    /// Base58 of the value that the account must have.
    pub value: String,
}

/// What a transaction pays to one tip address.
#[napi(object, object_from_js = false)]
pub struct PaidTip {
    /// Base58 of the address.
    pub account: String,
    #[napi(ts_type = "bigint")]
    pub lamports: u64,
}

impl From<&(Pubkey, u64)> for PaidTip {
    fn from((account, lamports): &(Pubkey, u64)) -> PaidTip {
        PaidTip {
            account: encode_pubkey(account),
            lamports: *lamports,
        }
    }
}

/// Verdict on one transaction.
#[napi(object, object_from_js = false)]
pub struct MemberVerdict {
    pub problem: Option<ProblemData>,
    /// Base58 of the first signature, if the layout is readable.
    pub signature: Option<String>,
    /// Base58 of the blockhash that limits how long it may land, if the layout is readable. Absent
    /// of a durable nonce, too.
    pub blockhash: Option<String>,
    /// What a durable nonce limits; absent of a blockhash.
    pub nonce: Option<NonceData>,
    /// Whether every signature is valid; absent if there is a problem.
    pub is_signed: Option<bool>,
    /// Lamports for each tip class, in the order of the rules.
    #[napi(ts_type = "bigint[]")]
    pub tips: Vec<u64>,
    /// The tip addresses that it pays, of all classes, each once.
    pub paid: Vec<PaidTip>,
    /// Whether every class reaches its minimum and an instruction of a program that is not exempt
    /// has a writable static account.
    pub qualifies: bool,
}

/// Verdict on a request's transactions.
#[napi(object, object_from_js = false)]
pub struct Verdict {
    pub members: Vec<MemberVerdict>,
    /// Indexes, from 0, of the first two members with equal bytes or equal signed messages.
    #[napi(ts_type = "[number, number]")]
    pub duplicate: Option<Vec<u32>>,
    /// Present if every member has a first signature.
    pub bundle_id: Option<String>,
}

impl From<transaction::Verdict> for Verdict {
    fn from(verdict: transaction::Verdict) -> Verdict {
        Verdict {
            members: verdict.members.into_iter().map(Into::into).collect(),
            duplicate: verdict
                .duplicate
                .map(|(one, other)| vec![one as u32, other as u32]),
            bundle_id: verdict.bundle_id,
        }
    }
}

impl From<Member> for MemberVerdict {
    fn from(member: Member) -> MemberVerdict {
        MemberVerdict {
            problem: member.problem.map(|problem| ProblemData {
                kind: problem.kind(),
                reason: problem.into_reason(),
            }),
            signature: member.signature,
            blockhash: match member.lifetime {
                Some(Lifetime::Blockhash(blockhash)) => Some(encode_pubkey(&blockhash)),
                Some(Lifetime::Nonce { .. }) | None => None,
            },
            nonce: match member.lifetime {
                Some(Lifetime::Nonce { account, value }) => Some(NonceData {
                    account: account.map(|account| encode_pubkey(&account)),
                    value: encode_pubkey(&value),
                }),
                Some(Lifetime::Blockhash(_)) | None => None,
            },
            is_signed: member.is_signed,
            tips: member.tips.lamports,
            paid: member.tips.paid.iter().map(Into::into).collect(),
            qualifies: member.tips.qualifies,
        }
    }
}

/// What can be told of a transaction at once.
#[napi(object, object_from_js = false)]
pub struct TransactionHead {
    /// Base58 of the first signature; absent if the layout is not readable, with the reason.
    pub signature: Option<String>,
    pub problem: Option<String>,
}

/// Checks of one route's transactions.
#[napi]
pub struct TransactionChecks {
    rules: Arc<Rules>,
    pool: Arc<Pool>,
}

#[napi]
impl TransactionChecks {
    #[napi(constructor)]
    pub fn new(rules: TransactionRules, pool: VerifyPoolOptions) -> Result<TransactionChecks> {
        guard(|| {
            Ok(TransactionChecks {
                rules: Arc::new(rules.to_rules()?),
                pool: verify_pool(&pool)?,
            })
        })
    }

    /// Parses only the frames of a batch.
    #[napi]
    pub fn frame_batch(
        &self,
        #[napi(ts_arg_type = "Uint8Array")] body: Bytes<'_>,
    ) -> Result<FrameVerdict> {
        guard(|| {
            let mut count = 0;
            let fault = body.read(|body| {
                let fault = frame_batch(body, |_| count += 1);
                Ok(fault.map(|fault| fault.to_string()))
            })?;
            Ok(FrameVerdict {
                count,
                problem: fault,
            })
        })
    }

    /// Checks the complete records of a batch on the pool. Throws `checksOverloaded` if too many
    /// checks wait.
    #[napi(ts_return_type = "Promise<Verdict>")]
    pub fn check_batch<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "Uint8Array")] body: Bytes<'_>,
    ) -> Result<Object<'env>> {
        let body = guard(|| body.to_vec())?;
        self.check_later(env, move |rules| check_batch(&body, rules))
    }

    /// Checks the members of a bundle, base64 texts as they came, on the pool. Throws
    /// `checksOverloaded` if too many checks wait.
    #[napi(ts_return_type = "Promise<Verdict>")]
    pub fn check_bundle<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "readonly string[]")] transactions: Vec<JsString<'_>>,
        bytes_max: f64,
    ) -> Result<Object<'env>> {
        let members = guard(|| {
            let bytes_max = whole(bytes_max, BYTES_MAX as u32, "bytesMax")? as usize;
            if transactions.len() > RECORDS_MAX {
                return Err(wrong("too many transactions"));
            }
            transactions
                .into_iter()
                .map(|text| decode_string(text, bytes_max))
                .collect::<Checked<Vec<Decoded>>>()
        })?;
        self.check_later(env, move |rules| check_bundle(&members, rules))
    }

    /// Reads the first signature of a transaction of which nothing is checked.
    #[napi]
    pub fn read_transaction(
        &self,
        #[napi(ts_arg_type = "Uint8Array")] transaction: Bytes<'_>,
    ) -> Result<TransactionHead> {
        guard(|| {
            let read = transaction.read(|bytes| Ok(read_signature(bytes)))?;
            Ok(TransactionHead {
                problem: read.as_ref().err().cloned(),
                signature: read.ok(),
            })
        })
    }

    /// Checks one transaction on the pool. Throws `checksOverloaded` if too many checks wait.
    #[napi(ts_return_type = "Promise<Verdict>")]
    pub fn check_transaction<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "Uint8Array")] transaction: Bytes<'_>,
    ) -> Result<Object<'env>> {
        let transaction = guard(|| transaction.to_vec())?;
        self.check_later(env, move |rules| check_transaction(&transaction, rules))
    }

    /// The id of a bundle, base64 texts as they came, of which nothing is checked; null if a
    /// member has no signature that can be read.
    #[napi]
    pub fn bundle_id(
        &self,
        #[napi(ts_arg_type = "readonly string[]")] transactions: Vec<JsString<'_>>,
        bytes_max: f64,
    ) -> Result<Option<String>> {
        guard(|| {
            let bytes_max = whole(bytes_max, BYTES_MAX as u32, "bytesMax")? as usize;
            let mut members = Vec::with_capacity(transactions.len());
            for text in transactions {
                match decode_string(text, bytes_max)? {
                    Ok(member) => members.push(Ok(member)),
                    Err(_) => return Ok(None),
                }
            }
            Ok(read_bundle_id(&members))
        })
    }

    /// Checks that wait for the pool.
    #[napi]
    pub fn waiting(&self) -> u32 {
        self.pool.depth().waiting as u32
    }
}

impl TransactionChecks {
    /// Queues a check on the pool and returns the promise of its verdict.
    fn check_later<'env>(
        &self,
        env: &'env Env,
        check: impl FnOnce(&Rules) -> transaction::Verdict + Send + 'static,
    ) -> Result<Object<'env>> {
        guard(|| {
            let has_room = self.pool.has_room();
            has_room.then_some(()).ok_or(Error::ChecksOverloaded)
        })?;
        let (deferred, promise) = deferred::<Verdict>(env)?;
        let rules = Arc::clone(&self.rules);
        let job = move || {
            let verdict = check(&rules);
            deferred.resolve(Box::new(move |_| Ok(verdict.into())));
        };
        guard(|| self.pool.submit(job))?;
        Ok(promise)
    }
}

/// Decodes the base58 text of at most so many bytes; null if it is not one, or is longer.
#[napi]
pub fn decode_base58(
    #[napi(ts_arg_type = "Uint8Array")] text: Bytes<'_>,
    bytes_max: f64,
) -> Result<Option<Uint8Array>> {
    guard(|| {
        let bytes_max = whole(bytes_max, BYTES_MAX as u32, "bytesMax")? as usize;
        text.read(|text| Ok(decode_long_base58(text, bytes_max).map(Uint8Array::from)))
    })
}

/// Decodes a text, unless it is too long for a transaction: avoids copying up to 8 MiB.
fn decode_string(text: JsString<'_>, bytes_max: usize) -> Checked<Decoded> {
    let failed = |error: napi::Error| wrong(&format!("a transaction's text: {}", error.reason));
    if text.utf16_len().map_err(failed)? > text_length(bytes_max) {
        return Ok(Err(Problem::Size));
    }
    // UTF-8, because Latin-1 would turn U+0141 into the letter A.
    let text = text.into_utf8().map_err(failed)?;
    Ok(decode(text.as_slice(), bytes_max))
}
