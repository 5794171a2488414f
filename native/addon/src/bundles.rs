//! Bundles that are judged while their signatures are looked at elsewhere.

use std::mem;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use kernel::error::{Error, Result as Checked};
use kernel::transaction::{Check, Given, Member, RECORDS_MAX, Text, Verdict, foresee_bundle};
use napi::bindgen_prelude::{External, Object, Uint8ArraySlice};
use napi::{Env, JsString};
use napi_derive::napi;

use crate::arguments::whole;
use crate::failure::{Result, guard, thrown};
use crate::promises::{Deferred, deferred};
use crate::transactions::{TransactionChecks, VerdictData, take_texts, to_bytes_max};

/// A bundle of which the signatures are still looked at.
#[napi(object, object_from_js = false)]
pub struct BegunBundle {
    /// Without signatures.
    pub verdict: VerdictData,
    /// Absent where something else is wrong.
    #[napi(ts_type = "ExternalObject<unknown>")]
    pub signing: Option<External<Arc<Signing>>>,
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
    fn of(outcome: Checked<Verdict>) -> SignedData {
        match outcome {
            Ok(verdict) => {
                let is_wrong = |member: &Member| member.is_signed != Some(true);
                let wrong = verdict.members.iter().position(is_wrong);
                SignedData {
                    wrong: wrong.map(|index| index as u32),
                    error: None,
                    detail: None,
                }
            }
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
    state: Mutex<State>,
    /// Set once `state` is known, for who looks out without the lock.
    is_known: AtomicBool,
    count: usize,
}

enum State {
    Unknown,
    Awaited(Deferred<SignedData>),
    Known(SignedData),
}

impl Signing {
    fn new(count: usize) -> Signing {
        Signing {
            state: Mutex::new(State::Unknown),
            is_known: AtomicBool::new(false),
            count,
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

/// The bundle that the body in hand may hold.
#[derive(Default)]
pub struct Foreseen(Mutex<Option<Guess>>);

struct Guess {
    texts: Vec<Text>,
    bytes_max: usize,
    opened: Opened,
}

/// A bundle all of which is judged but its signatures, and those where nothing else is wrong.
type Opened = (Verdict, Option<Arc<Signing>>);

impl Foreseen {
    fn put(&self, guess: Option<Guess>) -> Option<Guess> {
        mem::replace(
            &mut self.0.lock().unwrap_or_else(PoisonError::into_inner),
            guess,
        )
    }
}

#[napi]
impl TransactionChecks {
    /// Has the signatures of the bundle that a body seems to hold looked at before the body is read. Nothing else comes
    /// of it: `begin_bundle` takes what was found where it is given these very texts.
    #[napi]
    pub fn foresee(&self, body: Uint8ArraySlice<'_>, count_max: f64, bytes_max: f64) -> Result<()> {
        guard(|| {
            let count_max = whole(count_max, RECORDS_MAX as u32, "countMax")? as usize;
            let bytes_max = to_bytes_max(bytes_max)?;
            let texts = foresee_bundle(&body, count_max, bytes_max).map(|texts| {
                let given = texts.into_iter().map(|text| Text::Given(text.to_vec()));
                given.collect::<Vec<Text>>()
            });
            let guess = match texts {
                Some(texts) => Some(Guess {
                    opened: self.open(texts.clone(), bytes_max)?,
                    texts,
                    bytes_max,
                }),
                None => None,
            };
            self.foreseen.put(guess);
            Ok(())
        })
    }

    /// Judges a bundle's members at once but for their signatures. The pool looks at those where nothing else is wrong,
    /// up to the first wrong one.
    #[napi]
    pub fn begin_bundle(
        &self,
        #[napi(ts_arg_type = "string[]")] transactions: Vec<JsString<'_>>,
        bytes_max: f64,
    ) -> Result<BegunBundle> {
        guard(|| {
            let bytes_max = to_bytes_max(bytes_max)?;
            let texts = take_texts(transactions, bytes_max)?;
            let is_same = |guess: &Guess| guess.bytes_max == bytes_max && guess.texts == texts;
            let (verdict, signing) = match self.foreseen.put(None).filter(is_same) {
                Some(guess) => guess.opened,
                None => self.open(texts, bytes_max)?,
            };
            Ok(BegunBundle {
                verdict: VerdictData::of(Ok(verdict)),
                signing: signing.map(External::new),
            })
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
        if signing.count < *PROCESSORS && self.pool.depth().waiting == 0 {
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
    fn open(&self, texts: Vec<Text>, bytes_max: usize) -> Checked<Opened> {
        let check = Check::new(Given::Bundle {
            texts,
            bytes_max,
            stops_early: true,
        });
        let verdict = check.look(&self.rules).cloned();
        let verdict = verdict.ok_or_else(|| Error::Internal("no verdict".into()))?;
        if !check.wants_signatures() {
            return Ok((verdict, None));
        }
        let signing = Arc::new(Signing::new(verdict.members.len()));
        let told = Arc::clone(&signing);
        self.submit(check, move |_, outcome| told.tell(SignedData::of(outcome)));
        Ok((verdict, Some(signing)))
    }
}
