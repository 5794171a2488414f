//! Checks signed transactions on a separate pool, `verify`, so that scans never delay signatures.

use std::sync::{Arc, Mutex, PoisonError};

use napi::bindgen_prelude::{BigInt, Object, Uint8Array, Uint8ArraySlice};
use napi::{Env, JsString};
use napi_derive::napi;
use primitives::encoding::decode_pubkeys;
use sys::error::{Error, Result as Checked};
use sys::pool::Pool;
use transaction::{
    BYTES_MAX, Check, Given, Member, Problem, RECORDS_MAX, Rules, TipClass, Verdict, decode,
    frame_batch, submit, text_length,
};

use crate::arguments::{exact, whole, wrong};
use crate::failure::{Result, guard};
use crate::promises::deferred;
use crate::tasks::{NICENESS_MAX, THREADS_MAX};

/// Maximum addresses or programs of one list: more than any operator has, and fast to search
/// linearly.
const KEYS_MAX: usize = 256;
/// Maximum tip classes of one route. The service and the engine use one each.
const CLASSES_MAX: usize = 8;

/// Addresses whose tips are summed together.
#[napi(object, object_to_js = false)]
pub struct TipClassData {
    pub addresses: Vec<String>,
    pub floor_lamports: BigInt,
}

/// What the checks of one route count.
#[napi(object, object_to_js = false)]
pub struct TransactionRules {
    pub tip_classes: Vec<TipClassData>,
    /// Programs that are no application.
    pub exempt_programs: Vec<String>,
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
    fn to_kernel(&self) -> Checked<Rules> {
        if self.tip_classes.len() > CLASSES_MAX {
            return Err(wrong("too many tip classes"));
        }
        let keys = |texts: &[String]| {
            if texts.len() > KEYS_MAX {
                return Err(wrong("too many addresses"));
            }
            decode_pubkeys(texts)
        };
        let mut tip_classes: Vec<TipClass> = Vec::with_capacity(self.tip_classes.len());
        for class in &self.tip_classes {
            let addresses = keys(&class.addresses)?;
            let is_known = |key| {
                tip_classes
                    .iter()
                    .any(|other| other.addresses.contains(key))
            };
            if addresses.iter().any(is_known) {
                return Err(wrong("a tip address stands in two classes"));
            }
            tip_classes.push(TipClass {
                addresses,
                floor_lamports: exact(&class.floor_lamports, "floorLamports")?,
            });
        }
        Ok(Rules {
            tip_classes,
            exempt_programs: keys(&self.exempt_programs)?,
        })
    }
}

static VERIFY: Mutex<Option<Arc<Pool>>> = Mutex::new(None);

/// The process's pool. The first options create it, later ones share it.
fn verify_pool(env: &Env, options: &VerifyPoolOptions) -> Checked<Arc<Pool>> {
    let threads = whole(options.verify_threads, THREADS_MAX, "verifyThreads")? as usize;
    let niceness = whole(options.verify_niceness, NICENESS_MAX, "verifyNiceness")? as i32;
    let queue_max = whole(options.verify_queue_max, u32::MAX, "verifyQueueMax")? as usize;
    let mut pool = VERIFY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pool.as_ref() {
        return Ok(Arc::clone(pool));
    }
    let made = Arc::new(Pool::new("verify", threads, niceness, queue_max)?);
    // A process that ends frees JavaScript's memory, which these threads may be reading. So close
    // the pool first.
    env.add_env_cleanup_hook(Arc::clone(&made), |pool| pool.close())
        .map_err(|error| Error::Internal(error.reason.to_string()))?;
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
    /// Why the structure is wrong.
    pub reason: Option<String>,
}

/// What is known of one transaction.
#[napi(object, object_from_js = false)]
pub struct MemberData {
    pub start: u32,
    pub byte_length: u32,
    pub problem: Option<ProblemData>,
    /// Base58 of the first signature.
    pub signature: Option<String>,
    /// Absent where the signatures were not checked.
    pub is_signed: Option<bool>,
    /// Lamports for each tip class.
    #[napi(ts_type = "bigint[]")]
    pub tips: Vec<u64>,
    pub has_application: bool,
    pub qualifies: bool,
}

/// What a check resolves to: `members` and what follows, or `error` (a row of the error table) with
/// its `detail`.
#[napi(object, object_from_js = false)]
pub struct VerdictData {
    pub members: Vec<MemberData>,
    /// The first two equal members, as two indexes.
    pub duplicate: Option<Vec<u32>>,
    pub bundle_id: Option<String>,
    pub error: Option<String>,
    pub detail: Option<String>,
}

impl VerdictData {
    fn of(outcome: Checked<Verdict>) -> VerdictData {
        match outcome {
            Ok(verdict) => VerdictData {
                members: verdict.members.into_iter().map(MemberData::of).collect(),
                duplicate: verdict
                    .duplicate
                    .map(|(one, other)| vec![one as u32, other as u32]),
                bundle_id: verdict.bundle_id,
                error: None,
                detail: None,
            },
            Err(error) => VerdictData {
                members: Vec::new(),
                duplicate: None,
                bundle_id: None,
                error: Some(error.name().into()),
                detail: Some(error.detail()),
            },
        }
    }
}

impl ProblemData {
    fn of(problem: Problem) -> ProblemData {
        ProblemData {
            kind: problem.kind(),
            reason: problem.into_reason(),
        }
    }
}

impl MemberData {
    fn of(member: Member) -> MemberData {
        MemberData {
            start: member.start as u32,
            byte_length: member.byte_length as u32,
            problem: member.problem.map(ProblemData::of),
            signature: member.signature,
            is_signed: member.is_signed,
            tips: member.tips.lamports,
            has_application: member.tips.has_application,
            qualifies: member.tips.qualifies,
        }
    }
}

/// The pool that checks signatures, in numbers.
#[napi(object, object_from_js = false)]
pub struct VerifyStats {
    pub verify_waiting: u32,
    pub verify_running: u32,
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
    pub fn new(
        env: &Env,
        rules: TransactionRules,
        pool: VerifyPoolOptions,
    ) -> Result<TransactionChecks> {
        guard(|| {
            Ok(TransactionChecks {
                rules: Arc::new(rules.to_kernel()?),
                pool: verify_pool(env, &pool)?,
            })
        })
    }

    /// Checks only the frames of a batch.
    #[napi]
    pub fn frame_batch(&self, body: Uint8ArraySlice<'_>) -> Result<FrameVerdict> {
        guard(|| {
            let mut count = 0;
            let fault = frame_batch(&body, |_| count += 1);
            Ok(FrameVerdict {
                count,
                problem: fault.map(|fault| fault.to_string()),
            })
        })
    }

    /// Checks the complete records of a batch, on the pool and in place: until the promise settles,
    /// `body` must be neither changed, resized nor transferred.
    #[napi(ts_return_type = "Promise<VerdictData>")]
    pub fn check_batch<'env>(&self, env: &'env Env, body: Uint8Array) -> Result<Object<'env>> {
        self.start(env, Given::Batch(body))
    }

    /// Checks a bundle's members on the pool: base64 texts as they came.
    #[napi(ts_return_type = "Promise<VerdictData>")]
    pub fn check_bundle<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "string[]")] transactions: Vec<JsString<'_>>,
        bytes_max: f64,
    ) -> Result<Object<'env>> {
        let members = guard(|| {
            let bytes_max = whole(bytes_max, BYTES_MAX as u32, "bytesMax")? as usize;
            if transactions.len() > RECORDS_MAX {
                return Err(wrong("too many transactions"));
            }
            let texts = transactions.into_iter();
            texts.map(|text| decode_string(text, bytes_max)).collect()
        })?;
        self.start(env, Given::Bundle(members))
    }

    #[napi]
    pub fn stats(&self) -> VerifyStats {
        let depth = self.pool.depth();
        VerifyStats {
            verify_waiting: depth.waiting as u32,
            verify_running: depth.running as u32,
        }
    }
}

impl TransactionChecks {
    /// Queues a check. The given bytes stay alive until JavaScript has the verdict.
    fn start<'env>(&self, env: &'env Env, given: Given<Uint8Array>) -> Result<Object<'env>> {
        let (deferred, promise) = deferred::<VerdictData>(env)?;
        let check = Check::new(given);
        submit(&self.pool, &self.rules, check, move |check, outcome| {
            deferred.resolve(Box::new(move |_| {
                // A JavaScript buffer must be released on JavaScript's thread.
                drop(check);
                Ok(VerdictData::of(outcome))
            }));
        });
        Ok(promise)
    }
}

/// Decodes a text, unless it is too long for a transaction: avoids copying up to 8 MiB.
fn decode_string(
    text: JsString<'_>,
    bytes_max: usize,
) -> Checked<std::result::Result<Vec<u8>, Problem>> {
    let failed = |error: napi::Error| wrong(&format!("a transaction's text: {}", error.reason));
    if text.utf16_len().map_err(failed)? > text_length(bytes_max) {
        return Ok(Err(Problem::Size));
    }
    // UTF-8, because Latin-1 would turn U+0141 into the letter A.
    let text = text.into_utf8().map_err(failed)?;
    Ok(decode(text.as_slice(), bytes_max))
}
