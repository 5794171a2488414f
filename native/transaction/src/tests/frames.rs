use std::ops::Range;

use super::*;

fn record(length: usize) -> Vec<u8> {
    [&(length as u16).to_be_bytes()[..], &vec![0xaa; length]].concat()
}

fn frames(body: &[u8]) -> (Vec<Range<usize>>, Option<String>) {
    let mut ranges = Vec::new();
    let fault = frame_batch(body, |range| ranges.push(range));
    (ranges, fault.map(|fault| fault.to_string()))
}

#[test]
fn valid_bodies() {
    for lengths in [vec![66], vec![1_232], vec![66, 1_232, 134], vec![1_232; 16]] {
        let body: Vec<u8> = lengths.iter().flat_map(|length| record(*length)).collect();
        let (ranges, fault) = frames(&body);
        assert_eq!(fault, None);
        assert_eq!(ranges.iter().map(Range::len).collect::<Vec<_>>(), lengths);
        assert!(
            ranges
                .iter()
                .all(|range| body[range.clone()].iter().all(|byte| *byte == 0xaa))
        );
    }
}

#[test]
fn each_error_has_its_record_and_offset() {
    let after = |good: usize, rest: &[u8]| [record(100).repeat(good), rest.to_vec()].concat();
    let cases: [(Vec<u8>, usize, &str); 15] = [
        (vec![], 0, "record 0 at offset 0: the body is empty"),
        (vec![0], 0, "record 0 at offset 0: truncated length"),
        (
            after(2, &[1]),
            2,
            "record 2 at offset 204: truncated length",
        ),
        (
            after(15, &[0]),
            15,
            "record 15 at offset 1530: truncated length",
        ),
        (
            after(1, &record(200)[..201]),
            1,
            "record 1 at offset 102: truncated record: 199 of 200 bytes",
        ),
        (
            after(1, &[0, 66]),
            1,
            "record 1 at offset 102: truncated record: 0 of 66 bytes",
        ),
        (
            after(0, &record(0)),
            0,
            "record 0 at offset 0: length 0 is below 66",
        ),
        (
            after(3, &record(65)),
            3,
            "record 3 at offset 306: length 65 is below 66",
        ),
        (
            after(3, &record(1_233)),
            3,
            "record 3 at offset 306: length 1233 is above 1232",
        ),
        (
            after(0, &[255, 255]),
            0,
            "record 0 at offset 0: length 65535 is above 1232",
        ),
        (
            after(17, &[]),
            16,
            "record 16 at offset 1632: a batch holds at most 16 records",
        ),
        (
            after(30, &[1]),
            16,
            "record 16 at offset 1632: a batch holds at most 16 records",
        ),
        (
            after(16, &[0]),
            16,
            "record 16 at offset 1632: 1 trailing byte",
        ),
        (
            after(16, &[0, 66, 1]),
            16,
            "record 16 at offset 1632: 3 trailing bytes",
        ),
        (
            after(16, &record(65)),
            16,
            "record 16 at offset 1632: 67 trailing bytes",
        ),
    ];
    for (body, count, text) in cases {
        let (ranges, fault) = frames(&body);
        assert_eq!((ranges.len(), fault.as_deref()), (count, Some(text)));
    }
}
