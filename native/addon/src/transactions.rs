//! Checks of signed transactions. Their work runs on a pool of its own, `verify`: a scan never
//! holds up a signature.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use kernel::encoding::decode_pubkeys;
use kernel::error::{Error, Result as Checked};
use kernel::pool::Pool;
use kernel::transaction::{
    self, Check, Given, Member, Payers, Problem, RECORDS_MAX, Rules, Text, TipClass, Verdict,
    frame_batch,
};
use napi::bindgen_prelude::{BigInt, Object, Uint8Array, Uint8ArraySlice};
use napi::{Env, JsString};
use napi_derive::napi;

use crate::arguments::{exact, whole, wrong};
use crate::bundles::{BundleFormData, Form, Signings};
use crate::failure::{Result, guard};
use crate::promises::deferred;
use crate::tasks::{NICENESS_MAX, THREADS_MAX};

/// Addresses and programs of one list: more than any operator has, few enough to look through.
const KEYS_MAX: usize = 256;
/// Tip classes of one route: the service's and the engine's, and some room.
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

/// The process's pool: the first options make it, later ones share it.
fn verify_pool(env: &Env, options: &VerifyPoolOptions) -> Checked<Arc<Pool>> {
    let threads = whole(options.verify_threads, THREADS_MAX, "verifyThreads")? as usize;
    let niceness = whole(options.verify_niceness, NICENESS_MAX, "verifyNiceness")? as i32;
    let queue_max = whole(options.verify_queue_max, u32::MAX, "verifyQueueMax")? as usize;
    let mut pool = VERIFY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pool) = pool.as_ref() {
        return Ok(Arc::clone(pool));
    }
    let made = Arc::new(Pool::new("verify", threads, niceness, queue_max)?);
    // A process that ends frees JavaScript's memory, also what a thread here is reading: end that
    // first.
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

/// What is known of one transaction.
#[napi(object, object_from_js = false)]
pub struct MemberData {
    pub start: u32,
    pub byte_length: u32,
    /// `base64`, `size`, or why it is no transaction.
    pub problem: Option<String>,
    /// Base58 of the first signature.
    pub signature: Option<String>,
    /// Absent where the signatures were not looked at.
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
    pub(crate) fn of(outcome: Checked<Verdict>) -> VerdictData {
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

impl MemberData {
    fn of(member: Member) -> MemberData {
        MemberData {
            start: member.start as u32,
            byte_length: member.byte_length as u32,
            problem: member.problem.map(Problem::into_text),
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
    pub(crate) rules: Arc<Rules>,
    /// Of a route that takes bundles.
    pub(crate) form: Option<Form>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) signings: Mutex<Signings>,
}

#[napi]
impl TransactionChecks {
    #[napi(constructor)]
    pub fn new(
        env: &Env,
        rules: TransactionRules,
        pool: VerifyPoolOptions,
        form: Option<BundleFormData>,
    ) -> Result<TransactionChecks> {
        guard(|| {
            Ok(TransactionChecks {
                rules: Arc::new(rules.to_kernel()?),
                form: form.map(|form| form.to_form()).transpose()?,
                pool: verify_pool(env, &pool)?,
                signings: Mutex::default(),
            })
        })
    }

    /// Looks at the frames of a batch alone.
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
    /// `body` must be neither changed, resized nor transferred. Where it is said whether one tip is
    /// enough for all, a clean batch resolves to null.
    #[napi(ts_return_type = "Promise<VerdictData | null>")]
    pub fn check_batch<'env>(
        &self,
        env: &'env Env,
        body: Uint8Array,
        is_one_enough: Option<bool>,
    ) -> Result<Object<'env>> {
        self.start(env, Given::Batch(body), is_one_enough)
    }

    /// Checks a bundle's members on the pool, likewise: base64 texts as they came.
    #[napi(ts_return_type = "Promise<VerdictData | null>")]
    pub fn check_bundle<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "string[]")] transactions: Vec<JsString<'_>>,
        bytes_max: f64,
        is_one_enough: Option<bool>,
    ) -> Result<Object<'env>> {
        let given = guard(|| {
            let bytes_max = to_bytes_max(bytes_max)?;
            Ok(Given::Bundle {
                texts: take_texts(transactions, bytes_max)?,
                bytes_max,
            })
        })?;
        self.start(env, given, is_one_enough)
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
    /// Queues a check. What is given lives until JavaScript has the verdict.
    fn start<'env>(
        &self,
        env: &'env Env,
        given: Given<Uint8Array>,
        is_one_enough: Option<bool>,
    ) -> Result<Object<'env>> {
        let (deferred, promise) = deferred::<Option<VerdictData>>(env)?;
        let payers = is_one_enough.map(|is_one| if is_one { Payers::One } else { Payers::Each });
        let rules = Arc::clone(&self.rules);
        self.submit(Check::new(given), move |check, outcome| {
            let is_clean = match (&outcome, payers) {
                (Ok(verdict), Some(payers)) => verdict.is_clean(&rules, payers),
                _ => false,
            };
            deferred.resolve(Box::new(move |_| {
                // A JavaScript buffer is let go on JavaScript's own thread.
                drop(check);
                // Sixteen members take the event loop longer than their way to the upstream and
                // back.
                Ok((!is_clean).then(|| VerdictData::of(outcome)))
            }));
        });
        Ok(promise)
    }

    pub(crate) fn submit(
        &self,
        check: Check<Uint8Array>,
        settle: impl FnOnce(Check<Uint8Array>, Checked<Verdict>) + Send + 'static,
    ) {
        let job = Arc::new(Job {
            ends: Some((check, Mutex::new(Box::new(settle)))),
            rules: Arc::clone(&self.rules),
            has_begun: AtomicBool::new(false),
        });
        let pool = Arc::downgrade(&self.pool);
        // A refused job is dropped, and so settles; hence nothing is to be done with the failure.
        let _ = self.pool.submit(move || Job::run(job, &pool));
    }
}

/// Tells JavaScript what came out of a check.
type Settle = Box<dyn FnOnce(Check<Uint8Array>, Checked<Verdict>) + Send>;

/// One check on the pool. It settles when it is dropped by the last thread that works at it: so a
/// job which panics, or is refused, is heard, and no thread reads what JavaScript has back.
struct Job {
    /// Taken only when the job is dropped. The lock is never contended: it lets threads share what
    /// stands beside it.
    ends: Option<(Check<Uint8Array>, Mutex<Settle>)>,
    rules: Arc<Rules>,
    has_begun: AtomicBool,
}

impl Job {
    fn run(job: Arc<Job>, pool: &Weak<Pool>) {
        job.has_begun.store(true, Ordering::Relaxed);
        let Some((check, _)) = &job.ends else { return };
        check.run(&job.rules, || {
            // Weak: one that comes too late must not keep the verdict back.
            let job = Arc::downgrade(&job);
            if let Some(pool) = pool.upgrade() {
                pool.submit_if_free(move || {
                    let job = job.upgrade();
                    if let Some((check, _)) = job.as_ref().and_then(|job| job.ends.as_ref()) {
                        check.help();
                    }
                });
            }
        });
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let Some((mut check, settle)) = self.ends.take() else {
            return;
        };
        let outcome = if *self.has_begun.get_mut() {
            check
                .finish()
                .ok_or_else(|| Error::Internal("panic in a check".into()))
        } else {
            Err(Error::ChecksOverloaded)
        };
        let settle = settle.into_inner().unwrap_or_else(PoisonError::into_inner);
        settle(check, outcome);
    }
}

/// The longest transaction that a route takes.
pub fn to_bytes_max(bytes_max: f64) -> Checked<usize> {
    Ok(whole(bytes_max, transaction::BYTES_MAX as u32, "bytesMax")? as usize)
}

/// Takes the members of a bundle over.
pub fn take_texts(transactions: Vec<JsString<'_>>, bytes_max: usize) -> Checked<Vec<Text>> {
    if transactions.len() > RECORDS_MAX {
        return Err(wrong("too many transactions"));
    }
    transactions
        .into_iter()
        .map(|text| take_text(text, bytes_max))
        .collect()
}

/// Takes a text over, unless it is too long to be a transaction: an 8 MiB string is not worth its
/// copy.
fn take_text(text: JsString<'_>, bytes_max: usize) -> Checked<Text> {
    let failed = |error: napi::Error| wrong(&format!("a transaction's text: {}", error.reason));
    if text.utf16_len().map_err(failed)? > transaction::text_length(bytes_max) {
        return Ok(Text::TooLong);
    }
    // UTF-8, not Latin-1: the latter would turn U+0141 into the letter A.
    let text = text.into_utf8().map_err(failed)?;
    Ok(Text::Given(text.as_slice().to_vec()))
}
