//! Property tests: written archives are read back, and other bytes are refused without a panic.

use proptest::collection::vec;
use proptest::prelude::*;

use super::writer::{Tar, append_vec, archive, header, manifest};
use super::*;

fn any_row() -> impl Strategy<Value = Row> {
    let data = prop_oneof![vec(any::<u8>(), 0..40), vec(any::<u8>(), 160..200)];
    (
        any::<[u8; 32]>(),
        any::<u64>(),
        any::<u64>(),
        any::<[u8; 32]>(),
        any::<bool>(),
        data,
    )
        .prop_map(
            |(pubkey, lamports, rent_epoch, owner, executable, data)| Row {
                // A zero key with zero lamports is an unused tail, not an account.
                lamports: if pubkey == [0; 32] { 1 } else { lamports },
                pubkey,
                rent_epoch,
                owner,
                executable,
                data,
            },
        )
}

/// `lz4_flex` takes the end of its source for the four bytes that end a frame.
#[test]
fn an_lz4_archive_without_its_end_mark_is_refused() {
    let tar = archive(
        &Bank::at(50),
        &[(49, 1, (1..9).map(|seed| row(seed, 300)).collect())],
    );
    let whole = formats::lz4_frames(&tar, 4_000);
    assert!(read(whole.as_slice()).is_ok());
    for cut in 1..12 {
        let found = read(&whole[..whole.len() - cut]);
        assert!(found.is_err(), "{cut} bytes less");
    }
    for behind in [&[0xFF; 4][..], &[0; 4], &[0xFF], &[0xFF; 8]] {
        let found = read([&whole, behind].concat().as_slice());
        assert!(found.is_err(), "{behind:?} behind it");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn written_archives_are_read_back(
        storages in vec((0..=50u64, 0..9u64, vec(any_row(), 0..8)), 0..8),
        frame_bytes in 600..9_000usize,
    ) {
        let tar = archive(&Bank::at(50), &storages);
        let frames = tar.chunks(frame_bytes).map(|part| zstd::encode_all(part, 1).unwrap());
        let (shown, end) = read(frames.collect::<Vec<_>>().concat().as_slice()).unwrap();
        prop_assert_eq!(&shown, &expected(&storages));
        prop_assert_eq!(end.entries, shown.len() as u64);
    }

    #[test]
    fn changed_bytes_never_panic(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let (bank, mut storages) = sample();
        storages[1].2.remove(1);
        let mut tar = archive(&bank, &storages);
        for (at, byte) in changes {
            let at = at.index(tar.len());
            tar[at] = byte;
        }
        let _ = read(tar.as_slice());
        let _ = read(&tar[..cut.index(tar.len())]);
    }

    /// Damage of the compressed stream.
    #[test]
    fn changed_compressed_bytes_never_panic(
        is_lz4 in any::<bool>(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let tar = archive(&Bank::at(50), &[(49, 1, (1..9).map(|seed| row(seed, 300)).collect())]);
        let mut packed = if is_lz4 {
            formats::lz4_frames(&tar, 4_000)
        } else {
            zstd::encode_all(tar.as_slice(), 1).unwrap()
        };
        let whole = packed.clone();
        for (at, byte) in changes {
            let at = at.index(packed.len());
            packed[at] = byte;
        }
        if let Some(cut) = cut {
            packed.truncate(cut.index(packed.len()));
        }
        let expected = read(whole.as_slice()).unwrap();
        if let Ok(found) = read(packed.as_slice()) {
            // The checksum of a frame may be absent, so only a shorter archive is always refused.
            prop_assert!(packed.len() == whole.len());
            prop_assert!(packed != whole || found == expected);
        }
    }

    /// Any header and body, with a valid checksum.
    #[test]
    fn any_header_never_panics(
        fields in vec((0..512usize, any::<u8>()), 0..40),
        kind in prop::sample::select(b"\x000LKxgS57V".to_vec()),
        body in vec(any::<u8>(), 0..1_500),
    ) {
        let mut head = header("accounts/1.1", body.len() as u64, kind);
        for (at, byte) in fields {
            head[at] = byte;
        }
        writer::sign(&mut head);
        let mut tar = Tar::new(Vec::new());
        tar.raw(&head, &body).unwrap();
        let bytes = tar.finish().unwrap();
        // The magic may be damaged, so any result is valid.
        let _ = read(bytes.as_slice());
    }

    #[test]
    fn any_manifest_never_panics(
        at in 0..600usize,
        bytes in vec(any::<u8>(), 0..64),
        length in 0..600usize,
    ) {
        let mut body = manifest(&Bank::at(5), 16);
        for (to, byte) in body.iter_mut().skip(at).zip(&bytes) {
            *to = *byte;
        }
        body.truncate(length);
        let mut tar = Tar::new(Vec::new());
        tar.file("version", b"1.2.0").unwrap();
        tar.file("snapshots/5/5", &body).unwrap();
        tar.storage(5, 0, &[row(1, 9)]).unwrap();
        if let Ok((shown, end)) = read(tar.finish().unwrap().as_slice()) {
            prop_assert_eq!(end.manifest.slot, 5);
            prop_assert_eq!(shown, vec![(5, row(1, 9))]);
        }
    }

    #[test]
    fn any_storage_never_panics(
        mut body in vec(any::<u8>(), 0..600),
        rows in vec(any_row(), 0..3),
        length in proptest::option::of(0..700u64),
    ) {
        if let (Some(length), Some(field)) = (length, body.get_mut(8..16)) {
            field.copy_from_slice(&length.to_le_bytes());
        }
        let before = append_vec(&rows);
        let mut tar = Tar::new(Vec::new());
        tar.begin(&Bank::at(5)).unwrap();
        tar.file("accounts/5.0", &[before, body].concat()).unwrap();
        if let Ok((shown, _)) = read(tar.finish().unwrap().as_slice()) {
            prop_assert!(shown.len() >= rows.len());
            prop_assert!(shown.iter().zip(&rows).all(|((_, shown), row)| shown == row));
        }
    }

    #[test]
    fn any_name_is_refused_or_read(text in "\\PC*|(incremental-)?snapshot-[0-9]{0,21}-[1-9A-Za-z-]{0,60}(\\.tar(\\.zst|\\.lz4)?)?") {
        if let Ok(name) = ArchiveName::parse(&text) {
            prop_assert_eq!(ArchiveName::parse(&name.to_string()).unwrap(), name);
        }
    }
}
