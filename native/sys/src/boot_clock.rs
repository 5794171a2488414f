//! The clock of leases: it counts while the machine is suspended, and nobody sets it.

/// Milliseconds since the machine was started.
pub fn boot_ms() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to the local variable; every Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn milliseconds_pass_as_by_the_clock_of_the_process() {
        let (started, first) = (Instant::now(), boot_ms());
        std::thread::sleep(Duration::from_millis(20));
        let second = boot_ms();
        let passed = started.elapsed().as_secs_f64() * 1e3;
        assert!(first > 0.0);
        assert!(second - first >= 19.0, "{first} {second}");
        assert!(second - first <= passed, "{first} {second} {passed}");
    }
}
