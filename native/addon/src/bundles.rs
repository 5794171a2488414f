//! Bundles that are judged while their signatures are looked at elsewhere.

use std::mem;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use kernel::error::{Error, Result as Checked};
use kernel::pool::Pool;
use kernel::transaction::{
    BundleCheck, BundleForm, Member, Problem, RECORDS_MAX, Verdict, decode, decode_text,
    read_bundle_call,
};
use napi::bindgen_prelude::{External, Object, Uint8ArraySlice};
use napi::{Env, JsString};
use napi_derive::napi;

use crate::arguments::{whole, wrong};
use crate::failure::{Result, guard, thrown};
use crate::promises::{Deferred, deferred};
use crate::transactions::{TransactionChecks, take_texts, to_bytes_max};

/// Members that the second parameter of a bundle's call may have.
const OPTIONS_MAX: usize = 8;

/// What a route takes as a bundle's call.
#[napi(object, object_to_js = false)]
pub struct BundleFormData {
    pub transactions_max: f64,
    pub bytes_max: f64,
    /// Names and values, the latter as JSON.
    pub options: Vec<Vec<String>>,
}

/// The same, checked.
pub struct Form {
    call: BundleForm,
    bytes_max: usize,
}

impl BundleFormData {
    pub fn to_form(&self) -> Checked<Form> {
        if self.options.len() > OPTIONS_MAX {
            return Err(wrong("too many options"));
        }
        let pair = |pair: &Vec<String>| match pair.as_slice() {
            [name, value] => Ok((name.clone(), value.clone())),
            _ => Err(wrong("an option is a name and a value")),
        };
        Ok(Form {
            call: BundleForm {
                transactions_max: whole(
                    self.transactions_max,
                    RECORDS_MAX as u32,
                    "transactionsMax",
                )? as usize,
                options: self.options.iter().map(pair).collect::<Checked<_>>()?,
            },
            bytes_max: to_bytes_max(self.bytes_max)?,
        })
    }
}

/// A member that is no transaction.
#[napi(object, object_from_js = false)]
pub struct FaultData {
    pub index: u32,
    /// `base64`, `size`, or why it is no transaction.
    pub problem: String,
}

/// A bundle of which the signatures are still looked at.
#[napi(object, object_from_js = false)]
pub struct BegunBundle {
    /// Base58 of first signatures, of the members whose layout could be read.
    pub signatures: Vec<String>,
    pub bundle_id: Option<String>,
    /// One of the members qualifies.
    pub qualifies: bool,
    /// Absent where there is none.
    pub faults: Option<Vec<FaultData>>,
    /// The first two equal members, as two indexes.
    pub duplicate: Option<Vec<u32>>,
    /// Absent where something else is wrong.
    #[napi(ts_type = "ExternalObject<unknown>")]
    pub signing: Option<External<Arc<Signing>>>,
}

/// A call that was read, and the bundle that it is of.
#[napi(object, object_from_js = false)]
pub struct ReadBundle {
    /// As JSON.
    pub id: String,
    /// Where in the body the transactions stand, with their quotes.
    pub start: u32,
    pub end: u32,
    pub begun: BegunBundle,
}

/// Whether all signatures are right, or why that is not known: a row of the error table with its detail.
#[derive(Clone)]
#[napi(object, object_from_js = false)]
pub struct SignedData {
    /// The first member that is not signed as it says.
    pub wrong: Option<u32>,
    pub error: Option<String>,
    pub detail: Option<String>,
}

impl SignedData {
    fn of(outcome: Checked<Option<usize>>) -> SignedData {
        match outcome {
            Ok(wrong) => SignedData {
                wrong: wrong.map(|index| index as u32),
                error: None,
                detail: None,
            },
            Err(error) => SignedData {
                wrong: None,
                error: Some(error.name().into()),
                detail: Some(error.detail()),
            },
        }
    }
}

static PROCESSORS: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));

/// How long the event loop looks out for a verdict that is nearly there: what one signature takes. A turn of the loop for
/// it takes 20 µs more.
const LOOKOUT: Duration = Duration::from_micros(50);

/// The signatures of one bundle, of which the pool tells and JavaScript asks.
pub struct Signing {
    member_count: usize,
    state: Mutex<State>,
    /// Set once `state` is known, for who looks out without the lock.
    is_known: AtomicBool,
}

enum State {
    Unknown,
    Awaited(Deferred<SignedData>),
    Known(SignedData),
}

impl Signing {
    fn new(member_count: usize) -> Signing {
        Signing {
            member_count,
            state: Mutex::new(State::Unknown),
            is_known: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, found: SignedData) {
        let before = mem::replace(&mut *self.state(), State::Known(found.clone()));
        self.is_known.store(true, Ordering::Release);
        if let State::Awaited(deferred) = before {
            deferred.resolve(Box::new(move |_| Ok(found)));
        }
    }

    /// Until it is known, or the time is over.
    fn look_out(&self) {
        let until = Instant::now() + LOOKOUT;
        while !self.is_known.load(Ordering::Acquire) && Instant::now() < until {
            std::hint::spin_loop();
        }
    }
}

/// The work at one bundle's signatures. It tells what came out when it is dropped by the last thread that works at it: so
/// what panics, or is refused, is heard.
struct Job {
    /// Not of `signing`, which lives until JavaScript's collector comes by.
    bundle: Arc<BundleCheck>,
    signing: Arc<Signing>,
    has_begun: AtomicBool,
}

impl Job {
    fn run(job: Arc<Job>, pool: &Weak<Pool>) {
        job.has_begun.store(true, Ordering::Relaxed);
        if job.bundle.member_count() > 1
            && let Some(pool) = pool.upgrade()
        {
            // Weak: one that comes too late must not keep the verdict back.
            let job = Arc::downgrade(&job);
            pool.submit_if_free(move || {
                if let Some(job) = job.upgrade() {
                    job.bundle.sign();
                }
            });
        }
        job.bundle.sign();
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let failed = || Error::Internal("panic in a check".into());
        self.signing
            .tell(SignedData::of(if *self.has_begun.get_mut() {
                self.bundle.first_wrong().ok_or_else(failed)
            } else {
                Err(Error::ChecksOverloaded)
            }));
    }
}

#[napi]
impl TransactionChecks {
    /// Reads a body that is nothing but a right `sendBundle` of the route, with canonical base64, and begins as
    /// `begin_bundle` does. Absent where it is anything else, or may be.
    #[napi]
    pub fn read_bundle(&self, body: Uint8ArraySlice<'_>) -> Result<Option<ReadBundle>> {
        guard(|| {
            let Some(Form { call, bytes_max }) = &self.form else {
                return Err(wrong("these checks have no form of a bundle"));
            };
            let Some(call) = read_bundle_call(&body, call) else {
                return Ok(None);
            };
            let transactions = call.transactions.iter();
            let members: Vec<_> = transactions
                .map(|text| decode_text(text, *bytes_max))
                .collect();
            if members.iter().any(std::result::Result::is_err) {
                return Ok(None);
            }
            Ok(Some(ReadBundle {
                id: String::from_utf8_lossy(call.id).into_owned(),
                start: call.list.start as u32,
                end: call.list.end as u32,
                begun: self.begin(members),
            }))
        })
    }

    /// Judges a bundle's members at once but for their signatures. The pool looks at those, up to the first wrong one.
    #[napi]
    pub fn begin_bundle(
        &self,
        #[napi(ts_arg_type = "string[]")] transactions: Vec<JsString<'_>>,
        bytes_max: f64,
    ) -> Result<BegunBundle> {
        guard(|| {
            let bytes_max = to_bytes_max(bytes_max)?;
            let texts = take_texts(transactions, bytes_max)?;
            let decoded = texts.iter().map(|text| decode(text, bytes_max));
            Ok(self.begin(decoded.collect()))
        })
    }

    /// What is known of the signatures by now: −1 where all are right, the index of the first wrong one, or undefined
    /// where that takes longer, or has failed.
    #[napi]
    pub fn known_signed(
        &self,
        #[napi(ts_arg_type = "ExternalObject<unknown>")] signing: &External<Arc<Signing>>,
    ) -> Option<i32> {
        // Where all signatures are looked at in this moment, and the loop takes no processor from them.
        if signing.member_count < *PROCESSORS && self.pool.depth().waiting == 0 {
            signing.look_out();
        }
        match &*signing.state() {
            State::Known(found) if found.error.is_none() => {
                Some(found.wrong.map_or(-1, |index| index as i32))
            }
            _ => None,
        }
    }

    /// The same when it is known. To be asked once for each bundle.
    #[napi(ts_return_type = "Promise<SignedData>")]
    pub fn signed<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "ExternalObject<unknown>")] signing: &External<Arc<Signing>>,
    ) -> Result<Object<'env>> {
        let (deferred, promise) = deferred::<SignedData>(env)?;
        let mut state = signing.state();
        match &*state {
            State::Known(found) => {
                let found = found.clone();
                deferred.resolve(Box::new(move |_| Ok(found)));
            }
            State::Awaited(_) => return Err(thrown(&Error::Internal("asked twice".into()))),
            State::Unknown => *state = State::Awaited(deferred),
        }
        Ok(promise)
    }
}

impl TransactionChecks {
    /// Signatures come first: they take as long as everything else, and other threads look at them.
    fn begin(&self, members: Vec<std::result::Result<Vec<u8>, Problem>>) -> BegunBundle {
        let signing = Arc::new(Signing::new(members.len()));
        let bundle = Arc::new(BundleCheck::new(members));
        let job = Arc::new(Job {
            bundle: Arc::clone(&bundle),
            signing: Arc::clone(&signing),
            has_begun: AtomicBool::new(false),
        });
        let pool = Arc::downgrade(&self.pool);
        // A refused job is dropped, and so tells; hence nothing is to be done with the failure.
        let _ = self.pool.submit(move || Job::run(job, &pool));
        let Verdict {
            members,
            duplicate,
            bundle_id,
        } = bundle.look(&self.rules);
        let qualifies = members.iter().any(|member| member.tips.qualifies);
        let mut signatures = Vec::with_capacity(members.len());
        let mut faults = Vec::new();
        for (index, member) in members.into_iter().enumerate() {
            let Member {
                problem, signature, ..
            } = member;
            signatures.extend(signature);
            if let Some(problem) = problem {
                faults.push(FaultData {
                    index: index as u32,
                    problem: problem.into_text(),
                });
            }
        }
        let is_right = faults.is_empty() && duplicate.is_none();
        BegunBundle {
            signatures,
            bundle_id,
            qualifies,
            faults: (!faults.is_empty()).then_some(faults),
            duplicate: duplicate.map(|(one, other)| vec![one as u32, other as u32]),
            signing: is_right.then(|| External::new(signing)),
        }
    }
}
