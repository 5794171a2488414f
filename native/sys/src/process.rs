//! Process controls: end with the parent, scheduling, socket buffer bounds, lock files, thread
//! time.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;
use std::time::Duration;

use crate::error::{Error, Result};

/// Makes the kernel send SIGKILL to this process when the thread that started it ends. Returns
/// whether the parent is still `parent`, because it may have ended before the call.
pub fn die_with_parent(parent: u32) -> Result<bool> {
    // SAFETY: prctl with PR_SET_PDEATHSIG takes and returns plain integers.
    let status = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    // SAFETY: getppid takes nothing and returns an integer.
    let parent_now = unsafe { libc::getppid() };
    if status != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(u32::try_from(parent_now).is_ok_and(|now| now == parent))
}

/// Sets the calling thread's scheduler slice to at most `micros`; 0 restores the system's default.
///
/// A waking thread with a short slice preempts a thread with a long one; otherwise it waits for the
/// end of that slice, regardless of niceness. The system clamps the value to 100 µs to 100 ms.
/// Linux before 6.12 accepts the call and ignores it.
pub fn set_slice(micros: u64) -> Result<()> {
    // SAFETY: plain integers, for which zero is a value.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    let size = size_of::<libc::sched_attr>() as libc::c_uint;
    // SAFETY: thread 0 is the calling one; the kernel writes at most `size` bytes to `attributes`.
    let known = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    if known != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    // Keep policy and niceness, and any flag that only root may clear.
    attributes.size = size;
    attributes.sched_flags &= libc::SCHED_FLAG_RESET_ON_FORK as u64;
    attributes.sched_runtime = micros.saturating_mul(1_000);
    // SAFETY: the same thread; the kernel reads `attributes.size` bytes.
    if unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(())
}

/// Page faults of the calling thread that waited for the disk.
pub fn major_faults_of_thread() -> u64 {
    // SAFETY: rusage is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: getrusage writes only to the local variable.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    u64::try_from(usage.ru_majflt).unwrap_or_default()
}

/// Priority of a realtime thread: Linux's lowest, which is above all threads of normal priority.
const REALTIME_PRIORITY: libc::c_int = 1;

/// Gives the calling thread a realtime policy, so that it runs before every thread of normal
/// priority. Returns whether the system allows it (root, CAP_SYS_NICE or RLIMIT_RTPRIO). Threads
/// and processes that it starts later have normal priority.
///
/// If the thread keeps a processor busy, threads of normal priority get only a twentieth of that
/// processor, including the system threads that process its packets. Do not use it for a thread
/// that never sleeps.
pub fn set_realtime() -> Result<bool> {
    set_policy(
        libc::SCHED_RR | libc::SCHED_RESET_ON_FORK,
        REALTIME_PRIORITY,
    )
}

/// Reverts [`set_realtime`] and restores the system's default slice.
pub fn set_ordinary() -> Result<()> {
    set_policy(libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0).map(|_| ())
}

/// Returns false if the system does not allow it.
fn set_policy(policy: libc::c_int, priority: libc::c_int) -> Result<bool> {
    let param = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: thread 0 is the calling one; the kernel only reads `param`.
    if unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const param) } == 0 {
        return Ok(true);
    }
    let error = std::io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EPERM) => Ok(false),
        _ => Err(error.into()),
    }
}

/// For each connection accepted from now on by a listening TCP socket of this process, bounds the
/// unsent bytes in its send buffer. Returns the number of listening sockets.
///
/// Without it the send buffer holds up to 4 MB for a client that does not read, and the process
/// cannot detect that client. Bytes in flight do not count, so fast connections are not slowed
/// down.
pub fn bound_unsent(bytes: u32) -> Result<u32> {
    let value = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    let mut count = 0;
    for entry in std::fs::read_dir("/proc/self/fd")? {
        // A descriptor may be closed during the listing; it then counts as no socket.
        let Ok(name) = entry?.file_name().into_string() else {
            continue;
        };
        let Ok(descriptor) = name.parse() else {
            continue;
        };
        let is_ours = socket_option(descriptor, libc::SO_ACCEPTCONN) == Some(1)
            && socket_option(descriptor, libc::SO_PROTOCOL) == Some(libc::IPPROTO_TCP);
        if !is_ours {
            continue;
        }
        // SAFETY: the kernel only reads `value`.
        let status = unsafe {
            libc::setsockopt(
                descriptor,
                libc::IPPROTO_TCP,
                libc::TCP_NOTSENT_LOWAT,
                (&raw const value).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        if status != 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        count += 1;
    }
    Ok(count)
}

/// Returns `None` if the descriptor is not a socket.
fn socket_option(descriptor: RawFd, option: libc::c_int) -> Option<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut size = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes to the local variable.
    let status = unsafe {
        libc::getsockopt(
            descriptor,
            libc::SOL_SOCKET,
            option,
            (&raw mut value).cast(),
            &raw mut size,
        )
    };
    (status == 0).then_some(value)
}

/// A lock file, locked until the process ends. The operating system releases it even after kill -9.
#[derive(Debug)]
pub struct LockFile {
    _file: File,
}

impl LockFile {
    /// Returns `None` if another process holds the lock.
    pub fn take(path: &Path) -> Result<Option<LockFile>> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)?;
        // SAFETY: the descriptor is open for as long as `file` lives.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(Some(LockFile { _file: file }));
        }
        let error = std::io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EWOULDBLOCK) => Ok(None),
            _ => Err(Error::Internal(format!("{}: {error}", path.display()))),
        }
    }
}

/// Locks the open file of a descriptor for every process that inherits it, until the last one has
/// ended. Returns false if another process holds the lock.
pub fn lock_descriptor(descriptor: RawFd) -> Result<bool> {
    // SAFETY: plain integers; a descriptor that is not open is refused.
    if unsafe { libc::flock(descriptor, libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    let error = std::io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EWOULDBLOCK) => Ok(false),
        _ => Err(error.into()),
    }
}

/// Processor time of the calling thread, independent of other load on the machine.
pub fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes to the local variable; Linux has this clock for every thread.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calling thread's policy, niceness and slice in nanoseconds.
    fn attributes() -> (u32, i32, u64) {
        // SAFETY: as in `set_slice`.
        let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
        let size = size_of::<libc::sched_attr>() as libc::c_uint;
        // SAFETY: as in `set_slice`.
        let known =
            unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
        assert_eq!(known, 0);
        (
            attributes.sched_policy,
            attributes.sched_nice,
            attributes.sched_runtime,
        )
    }

    #[test]
    fn a_slice_applies_to_one_thread_and_is_restored() {
        let (policy, nice, before) = attributes();
        let thread = std::thread::spawn(move || {
            set_slice(250).unwrap();
            let short = attributes();
            set_slice(0).unwrap();
            (short, attributes())
        });
        let (short, after) = thread.join().unwrap();
        // An older system returns 0 and ignores the requested slice.
        if before != 0 {
            assert_eq!(short, (policy, nice, 250_000));
        }
        assert_eq!(after, (policy, nice, before));
        assert_eq!(attributes(), (policy, nice, before));
    }

    #[test]
    fn realtime_applies_to_one_thread_and_is_not_inherited() {
        let before = attributes();
        let thread = std::thread::spawn(|| {
            let is_allowed = set_realtime().unwrap();
            let own = attributes();
            let child = std::thread::spawn(attributes).join().unwrap();
            set_ordinary().unwrap();
            (is_allowed, own, child, attributes())
        });
        let (is_allowed, own, child, after) = thread.join().unwrap();
        assert_eq!((after.0, after.1), (before.0, before.1));
        if is_allowed {
            assert_eq!(own.0, libc::SCHED_RR as u32);
        } else {
            assert_eq!(own, before);
        }
        assert_eq!(child.0, libc::SCHED_OTHER as u32);
        assert_eq!(attributes(), before);
    }

    #[test]
    fn a_client_that_does_not_read_uses_little_kernel_memory() {
        use std::io::Write;
        use std::net::{TcpListener, TcpStream};

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let taken = |bytes: u32| {
            assert!(bound_unsent(bytes).unwrap() >= 1);
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut server, _) = listener.accept().unwrap();
            server.set_nonblocking(true).unwrap();
            let mut taken = 0;
            while let Ok(count) = server.write(&[0; 65_536]) {
                taken += count;
            }
            drop(client);
            taken
        };
        let bounded = taken(131_072);
        let free = taken(u32::MAX);
        assert!(bounded < 1_000_000, "{bounded}");
        assert!(free > bounded, "{free}");
    }

    #[test]
    fn a_lock_is_exclusive() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let lock = LockFile::take(&path).unwrap();
        assert!(lock.is_some());
        assert!(LockFile::take(&path).unwrap().is_none());
        drop(lock);
        assert!(LockFile::take(&path).unwrap().is_some());
    }
}
