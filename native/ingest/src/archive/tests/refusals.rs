//! Tests of refused archives and their errors.

use super::writer::{Tar, append_vec, archive, header, manifest};
use super::*;
use sys::error::Error;

fn reason(bytes: &[u8]) -> String {
    reason_within(bytes, &ArchiveLimits::default())
}

fn reason_within(bytes: &[u8], limits: &ArchiveLimits) -> String {
    match read_within(bytes, limits) {
        Err(Error::SnapshotInvalid(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

fn tar_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = Tar::new(Vec::new());
    for (name, body) in members {
        tar.file(name, body).unwrap();
    }
    tar.finish().unwrap()
}

#[test]
fn a_truncated_archive_is_always_refused() {
    let (bank, storages) = sample();
    let tar = archive(&bank, &storages);
    let frames: Vec<_> = tar
        .chunks(65_536)
        .map(|part| zstd::encode_all(part, 1).unwrap())
        .collect();
    for kept in 1..frames.len() {
        let whole_frames = frames[..kept].concat();
        assert_eq!(
            reason(&whole_frames),
            "the archive ends early",
            "{kept} frames"
        );
        assert!(!reason(&whole_frames[..whole_frames.len() - 3]).is_empty());
    }
    // The end mark is present, the frame's checksum is not.
    let zstd = {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.include_checksum(true).unwrap();
        std::io::Write::write_all(&mut encoder, &tar).unwrap();
        encoder.finish().unwrap()
    };
    assert_eq!(reason(&zstd[..zstd.len() - 2]), "the archive ends early");
    let mut wrong = zstd.clone();
    *wrong.last_mut().unwrap() ^= 1;
    assert!(
        reason(&wrong).contains("does not decompress"),
        "{}",
        reason(&wrong)
    );
}

#[test]
fn each_fault_is_named() {
    let manifest5 = manifest(&Bank::at(5), 0);
    let version: (&str, &[u8]) = ("version", b"1.2.0");
    let mut long = append_vec([&row(1, 8)]);
    long[8..16].copy_from_slice(&(10_485_761u64).to_le_bytes());
    let mut strange = append_vec([&row(1, 8)]);
    strange[96] = 2;
    let mut no_hash = manifest5.clone();
    no_hash[8] = 0;
    let mut many = manifest5.clone();
    many[41..49].copy_from_slice(&u64::MAX.to_le_bytes());
    let short = &manifest5[..manifest5.len() - 9];
    let good: (&str, &[u8]) = ("snapshots/5/5", &manifest5);
    let mut backwards = Bank::at(5);
    backwards.parent_slot = 5;
    let backwards = manifest(&backwards, 0);
    let cases: &[(&str, Vec<u8>)] = &[
        ("the archive has no version", tar_of(&[good])),
        ("the archive has no manifest", tar_of(&[version])),
        ("its version is \"1.3.0\"", tar_of(&[("version", b"1.3.0")])),
        ("its version is", tar_of(&[("version", &[b'1'; 100])])),
        (
            "the archive has two manifests",
            tar_of(&[version, good, good]),
        ),
        (
            "or one of slot 5 under the name 6",
            tar_of(&[version, ("snapshots/6/6", &manifest5)]),
        ),
        (
            "it has no blockhash",
            tar_of(&[("snapshots/5/5", &no_hash)]),
        ),
        (
            "18446744073709551615 blockhashes",
            tar_of(&[("snapshots/5/5", &many)]),
        ),
        ("it is too short", tar_of(&[("snapshots/5/5", short)])),
        (
            "its slots do not rise",
            tar_of(&[("snapshots/5/5", &backwards)]),
        ),
        (
            "a storage is of slot 6",
            tar_of(&[version, good, ("accounts/6.0", &[])]),
        ),
        (
            "claims 10485761 bytes",
            tar_of(&[version, good, ("accounts/5.0", &long)]),
        ),
        (
            "neither executable nor not",
            tar_of(&[version, good, ("accounts/5.0", &strange)]),
        ),
        ("it is gzip", vec![0x1F, 0x8B, 8, 0]),
        ("it is bzip2", b"BZh91AY&SY".to_vec()),
        ("it is a page of text", b"<html>".to_vec()),
        ("of no known kind", Vec::new()),
    ];
    for (expected, bytes) in cases {
        let reason = reason(bytes);
        assert!(reason.contains(expected), "{expected}: {reason}");
    }
}

#[test]
fn a_broken_tar_is_refused() {
    let good = header("version", 5, b'0');
    let mut wrong_sum = good;
    wrong_sum[0] ^= 1;
    let mut wrong_size = good;
    wrong_size[130] = b'9';
    writer::sign(&mut wrong_size);
    let mut huge = good;
    huge[124] = 0x80;
    huge[125..136].fill(0xFF);
    writer::sign(&mut huge);
    for (expected, head) in [
        ("checksum", wrong_sum),
        ("a size is not a number", wrong_size),
        ("a size is not a number", huge),
        ("unknown kind", header("version", 5, b'V')),
        ("a name is too long", header("././@LongLink", 1 << 20, b'L')),
        (
            "the archive ends early",
            header("accounts/1.1", 0o77777777777, b'0'),
        ),
    ] {
        let reason = reason(&head);
        assert!(reason.contains(expected), "{expected}: {reason}");
    }
}

#[test]
fn every_limit_ends_the_reading() {
    let (bank, storages) = sample();
    let tar = archive(&bank, &storages);
    let usual = ArchiveLimits::default();
    for (expected, limits) in [
        (
            "it has more than 6 members; if it is sound, raise bootstrap.archive.membersMax",
            ArchiveLimits {
                members_max: 6,
                ..usual.clone()
            },
        ),
        (
            "claims 3145728 bytes of data",
            ArchiveLimits {
                account_data_bytes_max: 3 << 19,
                ..usual.clone()
            },
        ),
        (
            "more than 3145728",
            ArchiveLimits {
                storage_bytes_max: 3 << 20,
                ..usual.clone()
            },
        ),
        (
            "unpacks to more than 10000 bytes",
            ArchiveLimits {
                unpacked_bytes_max: 10_000,
                ..usual.clone()
            },
        ),
    ] {
        let reason = reason_within(&tar, &limits);
        assert!(reason.contains(expected), "{expected}: {reason}");
    }
}

#[test]
fn an_error_of_the_visitor_ends_the_reading() {
    let (bank, storages) = sample();
    let tar = archive(&bank, &storages);
    let (progress, limits) = (Progress::default(), ArchiveLimits::default());
    let mut count = 0;
    let ended = read_archive(tar.as_slice(), &limits, &progress, &mut |_| {
        count += 1;
        if count == 3 {
            Err(Error::DiskReserve(7))
        } else {
            Ok(())
        }
    });
    assert!(matches!(ended, Err(Error::DiskReserve(7))));
    assert_eq!(count, 3);
    let ended = read_archive(tar.as_slice(), &limits, &progress, &mut |_| {
        progress.cancel();
        Ok(())
    });
    assert!(matches!(ended, Err(Error::Cancelled)), "{ended:?}");
}
