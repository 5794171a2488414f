//! Tests of all valid forms of an archive.

use std::io::{self, Cursor, Read, Write};

use super::writer::{Tar, append_vec, append_vec_with, archive, header, manifest, sign};
use super::*;
use sys::error::Error;

fn zstd_frames(bytes: &[u8], frame_bytes: usize) -> Vec<u8> {
    let frames = bytes
        .chunks(frame_bytes)
        .map(|part| zstd::encode_all(part, 1).unwrap());
    frames.collect::<Vec<_>>().concat()
}

pub(super) fn lz4_frames(bytes: &[u8], frame_bytes: usize) -> Vec<u8> {
    let frame = |part: &[u8]| {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap()
    };
    bytes
        .chunks(frame_bytes)
        .map(frame)
        .collect::<Vec<_>>()
        .concat()
}

/// A source that returns one to three bytes per read.
struct Trickle(Cursor<Vec<u8>>, u8);

impl Read for Trickle {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.1 = self.1 % 3 + 1;
        let count = out.len().min(self.1.into());
        self.0.read(&mut out[..count])
    }
}

#[test]
fn each_compression_gives_the_same_accounts() {
    let (bank, storages) = sample();
    let tar = archive(&bank, &storages);
    let whole = tar.len();
    // A skippable frame, as in seekable archives and from parallel compressors.
    let skippable = [
        &[0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3][..],
        &zstd_frames(&tar, whole),
    ];
    let cases = [
        ("tar", tar.clone()),
        ("one zstd frame", zstd_frames(&tar, whole)),
        ("many zstd frames", zstd_frames(&tar, 100_000)),
        ("a skippable zstd frame", skippable.concat()),
        ("one lz4 frame", lz4_frames(&tar, whole)),
        ("many lz4 frames", lz4_frames(&tar, 100_000)),
    ];
    for (name, bytes) in cases {
        let (shown, end) = read(bytes.as_slice()).expect(name);
        assert!(shown == expected(&storages), "{name}");
        assert_eq!(
            (end.storages, end.entries, end.cut_storages),
            (2, 22, 0),
            "{name}"
        );
        assert_eq!(end.unpacked_bytes, whole as u64, "{name}");
        let dripping = Trickle(Cursor::new(bytes), 0);
        assert!(
            read(dripping).expect(name).0 == expected(&storages),
            "{name}, dripping"
        );
    }
}

#[test]
fn the_manifest_contains_the_bank() {
    let (bank, storages) = sample();
    let (_, end) = read(archive(&bank, &storages).as_slice()).unwrap();
    let expected = Manifest {
        slot: 100,
        parent_slot: 99,
        block_height: 50,
        blockhash: writer::hash_of(100),
        recent_blockhashes: vec![writer::hash_of(99), writer::hash_of(100)],
        bank_hash: [0xAA; 32],
        epoch: 0,
        capitalization: 0,
        transaction_count: 1_234,
    };
    assert_eq!(end.manifest, expected);
}

#[test]
fn the_manifest_may_come_last_and_paths_may_begin_with_a_dot() {
    let mut tar = Tar::new(Vec::new());
    tar.file("./version", b"1.2.0\n").unwrap();
    tar.file("./accounts/9.1", &append_vec([&row(1, 5)]))
        .unwrap();
    tar.file("./snapshots/9/9", &manifest(&Bank::at(9), 0))
        .unwrap();
    let (shown, end) = read(tar.finish().unwrap().as_slice()).unwrap();
    assert_eq!(shown, [(9, row(1, 5))]);
    assert_eq!(end.manifest.slot, 9);
}

/// Firedancer names every storage by the snapshot's slot, so only the order in the file counts.
#[test]
fn many_storages_of_one_slot_come_in_the_order_of_the_file() {
    let storages: Vec<_> = (0..50)
        .map(|id| (100, id, vec![row(id as u8, 8)]))
        .collect();
    let (shown, end) = read(archive(&Bank::at(100), &storages).as_slice()).unwrap();
    assert_eq!(shown, expected(&storages));
    assert_eq!(end.storages, 50);
}

/// Old headers have a write version and a hash where new ones have zeros. The accounts are equal,
/// and the order of the file, not that number, decides which of two is newer.
#[test]
fn headers_of_older_validators_hold_the_same_accounts() {
    let older = [row(1, 13), row(2, 0), row(1, 200)];
    let body = append_vec_with(&older[..2], u64::MAX, [0xC3; 32]);
    let tail = append_vec_with(&older[2..], 1, [0xFF; 32]);
    assert_ne!(body, append_vec(&older[..2]));
    let mut tar = Tar::new(Vec::new());
    tar.begin(&Bank::at(5)).unwrap();
    tar.file("accounts/5.0", &[body, tail].concat()).unwrap();
    tar.storage(4, 1, &[row(77, 1)]).unwrap();
    let (shown, end) = read(tar.finish().unwrap().as_slice()).unwrap();
    let older = older.into_iter().map(|row| (5, row));
    assert_eq!(shown, older.chain([(4, row(77, 1))]).collect::<Vec<_>>());
    assert_eq!((end.entries, end.cut_storages), (4, 0));
}

/// Validators up to 4.3 list every storage's length after the bank, newer ones write an empty map.
/// The reader ignores both.
#[test]
fn the_list_of_storages_in_the_manifest_is_ignored() {
    let storages = vec![(5, 0, vec![row(1, 13), row(2, 300)])];
    let number = |n: u64| n.to_le_bytes();
    let listed: Vec<u8> = [1, 5, 1, 0, 1 << 40]
        .iter()
        .flat_map(|n| number(*n))
        .collect();
    let wrong: Vec<u8> = [u64::MAX; 9].iter().flat_map(|n| number(*n)).collect();
    for list in [number(0).to_vec(), listed, wrong, Vec::new()] {
        let mut tar = Tar::new(Vec::new());
        tar.file("version", b"1.2.0").unwrap();
        let body = [manifest(&Bank::at(5), 0), list].concat();
        tar.file("snapshots/5/5", &body).unwrap();
        tar.storage(5, 0, &storages[0].2).unwrap();
        let (shown, _) = read(tar.finish().unwrap().as_slice()).unwrap();
        assert_eq!(shown, expected(&storages));
    }
}

#[test]
fn a_storage_ends_where_its_accounts_end() {
    let body = append_vec([&row(1, 13), &row(2, 0)]);
    let unpadded = append_vec([&row(1, 13)]);
    let claims_more = append_vec([&row(9, 64)]);
    let cases: [(&str, Vec<u8>, usize, u64); 5] = [
        (
            "a tail of zeros",
            [body.clone(), vec![0; 4096]].concat(),
            2,
            0,
        ),
        (
            "a tail too short for a header",
            [body.clone(), vec![7; 135]].concat(),
            2,
            0,
        ),
        (
            "left-overs that claim too much",
            [&body[..], &claims_more[..150]].concat(),
            2,
            1,
        ),
        (
            "no padding behind the last",
            unpadded[..136 + 13].to_vec(),
            1,
            0,
        ),
        ("nothing", Vec::new(), 0, 0),
    ];
    for (name, body, count, cut) in cases {
        let mut tar = Tar::new(Vec::new());
        tar.begin(&Bank::at(5)).unwrap();
        tar.file("accounts/5.0", &body).unwrap();
        // The next storage must still be found.
        tar.storage(4, 1, &[row(77, 1)]).unwrap();
        let (shown, end) = read(tar.finish().unwrap().as_slice()).expect(name);
        assert_eq!(shown.len(), count + 1, "{name}");
        assert_eq!(shown.last(), Some(&(4, row(77, 1))), "{name}");
        assert_eq!(end.cut_storages, cut, "{name}");
    }
}

#[test]
fn long_names_and_large_numbers_are_parsed() {
    let body = append_vec([&row(1, 13)]);
    let mut tar = Tar::new(Vec::new());
    tar.begin(&Bank::at(5)).unwrap();
    // A GNU long name, and a binary size.
    tar.raw(&header("././@LongLink", 13, b'L'), b"accounts/5.0\0")
        .unwrap();
    let mut binary = header("accounts/0.0", 0, b'0');
    binary[124] = 0x80;
    binary[125..136].fill(0);
    binary[128..136].copy_from_slice(&(body.len() as u64).to_be_bytes());
    sign(&mut binary);
    tar.raw(&binary, &body).unwrap();
    // pax: path and size.
    let size = format!("size={}\n", body.len());
    let pax = format!("21 path=accounts/4.1\n{} {size}", size.len() + 3);
    tar.raw(
        &header("PaxHeaders/x", pax.len() as u64, b'x'),
        pax.as_bytes(),
    )
    .unwrap();
    tar.raw(&header("accounts/0.0", 0, b'0'), &body).unwrap();
    // A folder discards the long name before it.
    tar.raw(&header("././@LongLink", 13, b'L'), b"accounts/1.0\0")
        .unwrap();
    tar.folder("x/").unwrap();
    tar.file("accounts/3.1", &body).unwrap();
    let (shown, _) = read(tar.finish().unwrap().as_slice()).unwrap();
    assert_eq!(shown, [(5, row(1, 13)), (4, row(1, 13)), (3, row(1, 13))]);
}

/// A GNU sparse header with the stored extents of a file of `bytes` bytes.
fn sparse_header(extents: &[(u64, u64)], stored: u64, bytes: u64, is_extended: bool) -> [u8; 512] {
    let mut head = header("accounts/5.0", stored, b'S');
    for (index, (offset, length)) in extents.iter().enumerate() {
        let at = 386 + index * 24;
        head[at..at + 24].copy_from_slice(format!("{offset:011o}\0{length:011o}\0").as_bytes());
    }
    head[482] = u8::from(is_extended);
    head[483..494].copy_from_slice(format!("{bytes:011o}").as_bytes());
    sign(&mut head);
    head
}

#[test]
fn holes_of_sparse_files_are_zeros() {
    let big = Row {
        data: [vec![5; 1024], vec![0; 8192], vec![6; 1024]].concat(),
        ..row(1, 0)
    };
    let file = [append_vec([&big, &row(2, 100)]), vec![0; 5000]].concat();
    // Stores all but the middle of the zeros and the tail, in six extents, so that the map needs an
    // extension block.
    let (front, back, end) = (1500, 8500, file.len() as u64 - 5000);
    let extents = [
        (0, 100),
        (100, 400),
        (500, 600),
        (1100, front - 1100),
        (back, 500),
    ];
    let last = (back + 500, end - back - 500);
    let mut tar = Tar::new(Vec::new());
    tar.begin(&Bank::at(5)).unwrap();
    let stored = [&file[..front as usize], &file[back as usize..end as usize]].concat();
    let head = sparse_header(&extents[..4], stored.len() as u64, file.len() as u64, true);
    let mut block = [0; 512];
    for (at, (offset, length)) in [extents[4], last].into_iter().enumerate() {
        let text = format!("{offset:011o}\0{length:011o}\0");
        block[at * 24..at * 24 + 24].copy_from_slice(text.as_bytes());
    }
    tar.raw(&[&head[..], &block].concat(), &stored).unwrap();
    tar.storage(4, 1, &[row(77, 1)]).unwrap();
    let (shown, _) = read(tar.finish().unwrap().as_slice()).unwrap();
    assert!(shown == [(5, big), (5, row(2, 100)), (4, row(77, 1))]);
    for broken in [
        sparse_header(&[(100, 10), (50, 10)], 20, 200, false),
        sparse_header(&[(0, 10)], 20, 200, false),
        sparse_header(&[(0, 20)], 20, 10, false),
    ] {
        let mut tar = Tar::new(Vec::new());
        tar.raw(&broken, &[0; 20]).unwrap();
        let refused = read(tar.finish().unwrap().as_slice());
        assert!(matches!(refused, Err(Error::SnapshotInvalid(_))));
    }
}

#[test]
fn holes_count_towards_the_unpacked_size() {
    // Each file has a few bytes of tar and 60,000 bytes to unpack.
    let of_tar = |count: usize| {
        let mut tar = Tar::new(Vec::new());
        tar.begin(&Bank::at(5)).unwrap();
        for _ in 0..count {
            tar.raw(&sparse_header(&[(0, 200)], 200, 60_000, false), &[0; 200])
                .unwrap();
        }
        tar.finish().unwrap()
    };
    let limits = ArchiveLimits {
        unpacked_bytes_max: 200_000,
        ..ArchiveLimits::default()
    };
    assert!(read_within(of_tar(3).as_slice(), &limits).is_ok());
    let refused = read_within(of_tar(4).as_slice(), &limits).unwrap_err();
    assert!(
        refused.detail().contains("more than 200000 bytes"),
        "{}",
        refused.detail()
    );
}

#[test]
fn names_survive_a_round_trip() {
    let hash = "5pgMpQj4MZYWauD1VnoNfmGAdUQCe6VVCSCQMNbDoxf7";
    for (text, kind, slot) in [
        (format!("snapshot-1-{hash}.tar.zst"), ArchiveKind::Full, 1),
        (
            format!("snapshot-440284702-{hash}.tar.lz4"),
            ArchiveKind::Full,
            440_284_702,
        ),
        (
            format!("incremental-snapshot-7-12-{hash}.tar"),
            ArchiveKind::Incremental { base: 7 },
            12,
        ),
    ] {
        let name = ArchiveName::parse(&text).expect(&text);
        assert_eq!((name.kind, name.slot), (kind, slot));
        assert_eq!(name.to_string(), text);
    }
    for text in [
        "snapshot.tar.bz2".to_owned(),
        format!("snapshot-1-{hash}.tar.bz2"),
        format!("snapshot-+1-{hash}.tar.zst"),
        format!("snapshot--{hash}.tar.zst"),
        format!("snapshot-1-{hash}0.tar.zst"),
        format!("snapshot-1-2-{hash}.tar.zst"),
        format!("incremental-snapshot-12-12-{hash}.tar.zst"),
        format!("snapshot-99999999999999999999-{hash}.tar.zst"),
        format!("../snapshot-1-{hash}.tar.zst"),
    ] {
        assert!(ArchiveName::parse(&text).is_err(), "{text}");
    }
}
