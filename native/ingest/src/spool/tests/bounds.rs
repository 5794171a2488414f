//! Tests of a spool that is full.

use super::*;

#[test]
fn a_full_spool_names_its_setting_and_keeps_its_blocks() {
    let dir = tempdir().unwrap();
    let options = SpoolOptions {
        bytes_max: 600,
        ..OPTIONS
    };
    let spool = Spool::open(&dir.path().join("spool"), options).unwrap();
    let error = spool.apply(&chain(6..=20)).unwrap_err();
    assert!(error.to_string().contains("spoolBytesMax"), "{error}");
    let stats = spool.stats();
    assert!(stats.bytes <= 600 && stats.blocks > 0);
    assert!(
        stats
            .failure
            .is_some_and(|failure| failure.contains("spoolBytesMax"))
    );
    let last = stats.last_slot.unwrap();
    assert_eq!(open(&dir).tip().unwrap().unwrap().slot, last);
    let reserve = SpoolOptions {
        disk_reserve_bytes: u64::MAX,
        ..OPTIONS
    };
    let spool = Spool::open(&dir.path().join("other"), reserve).unwrap();
    assert!(matches!(
        spool.apply(&chain(6..=6)),
        Err(Error::DiskReserve(_))
    ));
}

/// A block of slot N has the time of N seconds here.
#[test]
fn a_spool_is_full_after_its_time() {
    let dir = tempdir().unwrap();
    let options = SpoolOptions {
        ms_max: 5_000,
        segment_bytes_max: 1,
        ..OPTIONS
    };
    let path = dir.path().join("spool");
    let spool = Spool::open(&path, options).unwrap();
    let error = spool.apply(&chain(6..=20)).unwrap_err();
    assert!(error.to_string().contains("spoolMs"), "{error}");
    assert_eq!(spool.stats().last_slot, Some(11));
    drop(spool);
    let spool = Spool::open(&path, options).unwrap();
    let error = spool.apply(&chain(12..=12)).unwrap_err();
    assert!(error.to_string().contains("spoolMs"), "{error}");
    // A time that goes back, or that no clock has, is no reason.
    for time in [Some(i64::MIN), Some(0), None] {
        let mut block = block_of(0, 12, 11);
        block.block_time = time;
        let path = path.with_extension("other");
        let _ = fs::remove_dir_all(&path);
        let spool = Spool::open(&path, options).unwrap();
        spool.apply(&chain(6..=11)).unwrap();
        spool.apply(&[block]).unwrap();
    }
}
