//! Where on the stack signatures are checked. The addresses of the curve's working values and of
//! its constants may be equal in their last 12 bits; the processor then takes a load for one of a
//! store before it, and waits. Which places are such is the linker's choice, and where a call
//! happens to stand on the stack decides: 42 µs for a signature at two places of three, up to 51 µs
//! at the third. So the place is measured once, and chosen.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Duration;

use ed25519_dalek::{Signer, SigningKey};

use super::signature::verify;
use crate::process::thread_time;

/// How far apart the places are, and how many fill the page after which they repeat.
const STEP_BYTES: usize = 256;
const STEPS: usize = 4_096 / STEP_BYTES;
/// Measurements of each place, of which the shortest counts: 5 ms together.
const ROUNDS: usize = 6;

/// Steps of the place that was chosen: the same on every thread, because frames are aligned first.
static CHOSEN: OnceLock<usize> = OnceLock::new();

/// Runs `work` once, where signatures are checked fast. The first call of a process measures.
pub fn well_placed(work: &mut dyn FnMut()) {
    align(*CHOSEN.get_or_init(|| quietest(&measure())), work);
}

#[repr(align(4096))]
struct Page(u8);

/// Aligns the frame, so that what follows stands at the same place of a page in each call.
#[inline(never)]
fn align(steps: usize, work: &mut dyn FnMut()) {
    let page = Page(0);
    black_box(&page.0);
    sink(steps, work);
    black_box(&page.0);
}

#[inline(never)]
fn sink(steps: usize, work: &mut dyn FnMut()) {
    let pad = [0u8; STEP_BYTES];
    black_box(&pad);
    if steps == 0 {
        work();
    } else {
        sink(steps - 1, work);
    }
    black_box(&pad);
}

fn measure() -> [Duration; STEPS] {
    let signer = SigningKey::from_bytes(&[1; 32]);
    let key = signer.verifying_key().to_bytes();
    let message = [2; 256];
    let signature = signer.sign(&message).to_bytes();
    let mut times = [Duration::MAX; STEPS];
    for _ in 0..ROUNDS {
        for (steps, shortest) in times.iter_mut().enumerate() {
            align(steps, &mut || {
                let from = thread_time();
                black_box(verify(&key, &message, &signature));
                *shortest = thread_time().saturating_sub(from).min(*shortest);
            });
        }
    }
    times
}

/// The place in the middle of good ones: one whose neighbours cost least with it. The places are a
/// ring.
fn quietest(times: &[Duration; STEPS]) -> usize {
    let around = |at: usize| -> Duration {
        [STEPS - 2, STEPS - 1, 0, 1, 2]
            .iter()
            .filter_map(|shift| times.get((at + shift) % STEPS))
            .sum()
    };
    (0..STEPS).min_by_key(|at| around(*at)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_in_the_middle_of_good_ones() {
        let place = |slow: &[usize]| {
            let micros = |at| if slow.contains(&at) { 50 } else { 42 };
            quietest(&std::array::from_fn(|at| Duration::from_micros(micros(at))))
        };
        assert_eq!(place(&[]), 0);
        for first in 0..STEPS {
            let slow: Vec<usize> = (0..7).map(|at| (first + at) % STEPS).collect();
            let chosen = place(&slow);
            for shift in [STEPS - 2, STEPS - 1, 0, 1, 2] {
                assert!(!slow.contains(&((chosen + shift) % STEPS)), "{slow:?}");
            }
        }
        assert_eq!(
            place(&(1..STEPS).collect::<Vec<_>>()),
            0,
            "the only good one"
        );
    }

    #[test]
    fn work_is_done_once() {
        let mut count = 0;
        well_placed(&mut || well_placed(&mut || count += 1));
        assert_eq!(count, 1);
        let failing = || well_placed(&mut || panic!("a job that fails"));
        assert!(
            std::panic::catch_unwind(failing).is_err(),
            "a panic goes on"
        );
    }
}
