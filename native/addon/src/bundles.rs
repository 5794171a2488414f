//! Bundles that are judged while their signatures are looked at elsewhere.

use std::fmt::{Display, Write};
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
use napi::bindgen_prelude::{Object, Uint8ArraySlice};
use napi::{Env, JsString};
use napi_derive::napi;

use crate::arguments::{whole, wrong};
use crate::failure::{Result, guard};
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

/// Whether all signatures are right, or why that is not known: a row of the error table with its
/// detail.
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

/// How long the event loop looks out for a verdict that is nearly there: what one signature takes.
/// A turn of the loop for it takes 20 µs more.
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

/// Bundles whose signatures JavaScript may still ask for. It asks in the turn of the loop that
/// follows, or when a connection is there: more than these are begun meanwhile only by who never
/// asks.
const OPEN_MAX: usize = 16_384;

/// Signatures by the number under which JavaScript knows them. An external value for each would
/// have to be made, and finalized when the collector comes by.
#[derive(Default)]
pub struct Signings {
    /// The place of a number is what is left of it after division by their count.
    places: Vec<(u32, Option<Arc<Signing>>)>,
    next: u32,
}

impl Signings {
    /// The oldest is forgotten where there are too many.
    fn open(&mut self, signing: Arc<Signing>) -> u32 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        let place = number as usize % OPEN_MAX;
        match self.places.get_mut(place) {
            Some(known) => *known = (number, Some(signing)),
            None => self.places.push((number, Some(signing))),
        }
        number
    }

    fn get(&self, number: u32) -> Option<&Arc<Signing>> {
        let (own, signing) = self.places.get(number as usize % OPEN_MAX)?;
        signing.as_ref().filter(|_| *own == number)
    }

    fn take(&mut self, number: u32) -> Option<Arc<Signing>> {
        let (own, signing) = self.places.get_mut(number as usize % OPEN_MAX)?;
        if *own == number { signing.take() } else { None }
    }
}

/// The work at one bundle's signatures. It tells what came out when it is dropped by the last
/// thread that works at it: so what panics, or is refused, is heard.
struct Job {
    /// Not of `signing`, which lives until JavaScript asks.
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
    /// Reads a body that is nothing but a right `sendBundle` of the route, with canonical base64,
    /// and begins as `begin_bundle` does: what that says follows the lines of the id, as JSON, and
    /// of where in the body the transactions begin and end, with their quotes. Absent where it is
    /// anything else, or may be.
    #[napi]
    pub fn read_bundle(&self, body: Uint8ArraySlice<'_>) -> Result<Option<String>> {
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
            let id = String::from_utf8_lossy(call.id);
            let head = format!("{id}\n{}\n{}\n", call.list.start, call.list.end);
            Ok(Some(self.begin(members, head)))
        })
    }

    /// Judges a bundle's members at once but for their signatures. The pool looks at those, up to
    /// the first wrong one.
    ///
    /// One text says all of it, because objects of so many members took the loop some 10 µs. Its
    /// lines, empty where there is nothing to say: the number under which the signatures are known,
    /// absent where something else is wrong; `1` where one of the members qualifies; the first two
    /// equal members, with a comma between them; the bundle's id; the count of members that are no
    /// transactions, and two lines for each, its index and `base64`, `size` or why; then base58 of
    /// the first signatures, of the members whose layout could be read.
    #[napi]
    pub fn begin_bundle(
        &self,
        #[napi(ts_arg_type = "string[]")] transactions: Vec<JsString<'_>>,
        bytes_max: f64,
    ) -> Result<String> {
        guard(|| {
            let bytes_max = to_bytes_max(bytes_max)?;
            let texts = take_texts(transactions, bytes_max)?;
            let decoded = texts.iter().map(|text| decode(text, bytes_max));
            Ok(self.begin(decoded.collect(), String::new()))
        })
    }

    /// What is known of the signatures by now: −1 where all are right, the index of the first wrong
    /// one, or undefined where that takes longer, or has failed.
    #[napi]
    pub fn known_signed(&self, signing: f64) -> Result<Option<i32>> {
        let signing = guard(|| whole(signing, u32::MAX, "signing"))?;
        let mut signings = self.signings();
        let Some(known) = signings.get(signing) else {
            return Ok(None);
        };
        // Where all signatures are looked at in this moment, and the loop takes no processor from
        // them.
        if known.member_count < *PROCESSORS && self.pool.depth().waiting == 0 {
            known.look_out();
        }
        let wrong = match &*known.state() {
            State::Known(found) if found.error.is_none() => found.wrong,
            _ => return Ok(None),
        };
        signings.take(signing);
        Ok(Some(wrong.map_or(-1, |index| index as i32)))
    }

    /// The same when it is known. To be asked once for each bundle: what is forgotten was refused,
    /// as where too many wait.
    #[napi(ts_return_type = "Promise<SignedData>")]
    pub fn signed<'env>(&self, env: &'env Env, signing: f64) -> Result<Object<'env>> {
        let signing = guard(|| whole(signing, u32::MAX, "signing"))?;
        let (deferred, promise) = deferred::<SignedData>(env)?;
        let Some(signing) = self.signings().take(signing) else {
            let forgotten = SignedData::of(Err(Error::ChecksOverloaded));
            deferred.resolve(Box::new(move |_| Ok(forgotten)));
            return Ok(promise);
        };
        let mut state = signing.state();
        match &*state {
            State::Known(found) => {
                let found = found.clone();
                deferred.resolve(Box::new(move |_| Ok(found)));
            }
            _ => *state = State::Awaited(deferred),
        }
        Ok(promise)
    }
}

impl TransactionChecks {
    /// Never contended: it is JavaScript that asks.
    fn signings(&self) -> MutexGuard<'_, Signings> {
        self.signings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signatures come first: they take as long as everything else, and other threads look at them.
    /// What is known of the bundle is written behind `text`.
    fn begin(
        &self,
        members: Vec<std::result::Result<Vec<u8>, Problem>>,
        mut text: String,
    ) -> String {
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
        let mut line = |part: &dyn Display| {
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{part}");
        };
        let fault_count = members.iter().filter(|member| member.problem.is_some());
        let fault_count = fault_count.count();
        if fault_count == 0 && duplicate.is_none() {
            line(&self.signings().open(signing));
        } else {
            line(&"");
        }
        let qualifies = members.iter().any(|member| member.tips.qualifies);
        line(&if qualifies { "1" } else { "" });
        match duplicate {
            Some((one, other)) => line(&format_args!("{one},{other}")),
            None => line(&""),
        }
        line(&bundle_id.unwrap_or_default());
        line(&fault_count);
        let mut signatures = Vec::with_capacity(members.len());
        for (index, member) in members.into_iter().enumerate() {
            let Member {
                problem, signature, ..
            } = member;
            signatures.extend(signature);
            if let Some(problem) = problem {
                line(&index);
                line(&problem.into_text().replace('\n', " "));
            }
        }
        for signature in &signatures {
            line(signature);
        }
        text
    }
}
