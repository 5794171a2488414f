//! Cells while other threads read them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use crate::cells::{Cells, FIGURES_AT, RING};
use crate::live::EdgeCells;

const SLOTS: usize = 4;

fn opened() -> (tempfile::TempDir, Cells, Cells) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("usage-4");
    let edge = Cells::create(&path, SLOTS, 7).unwrap();
    let reader = Cells::map(&path).unwrap().unwrap();
    (dir, edge, reader)
}

#[test]
fn a_slot_is_read_until_it_is_free_and_has_a_generation_of_its_own() {
    let (_dir, edge, reader) = opened();
    let all = [String::new()];
    let states = |cells: &Cells| -> Vec<(u64, bool)> {
        let rows = cells.rows(&all, false);
        rows.iter()
            .map(|row| (row.generation, row.is_closed))
            .collect()
    };
    assert!(edge.begin(0, 1, 5.0, b"a\0b\0c\0d"));
    assert!(!edge.begin(1, 1, 5.0, &[b'x'; 1_000]));
    edge.set_number(edge.slot_at(0) + FIGURES_AT, 3.0);
    assert_eq!(states(&reader), [(7, false)]);
    assert!(reader.rows(&["b\0".into()], false).is_empty());
    assert!(reader.rows(&all, true).is_empty(), "it is counted in");
    reader.free(0, 7);
    assert_eq!(
        states(&reader),
        [(7, false)],
        "one that is open is not freed"
    );
    edge.close(0);
    let row = &reader.rows(&["a\0".into()], true)[0];
    assert_eq!((row.minute, row.kind, row.figures[0]), (5, 1, 3.0));
    reader.free(0, 6);
    assert_eq!(states(&reader), [(7, true)], "nor another generation");
    reader.free(0, 7);
    assert!(edge.is_free(0) && states(&reader).is_empty());
    assert!(edge.begin(0, 1, 6.0, b"e\0f\0g\0h"));
    let row = &reader.rows(&all, false)[0];
    assert_eq!((row.generation, row.figures[0]), (8, 0.0));
}

#[test]
fn slots_that_were_freed_are_found_at_once_however_fast_all_are_used() {
    const SLOTS: usize = 64;
    let dir = tempfile::tempdir().unwrap();
    let mut edge = EdgeCells::open(dir.path(), SLOTS).unwrap();
    let recorder = Cells::map(&dir.path().join(format!("usage-{SLOTS}"))).unwrap();
    let recorder = recorder.unwrap();
    for minute in 0..100 {
        for _ in 0..SLOTS {
            let at = edge.begin(1, f64::from(minute), "a\0b\0c\0d").unwrap();
            edge.close(at);
        }
        for row in recorder.rows(&[String::new()], true) {
            recorder.free(row.slot, row.generation);
        }
    }
}

#[test]
fn a_reader_never_sees_parts_of_two_rows() {
    let (_dir, edge, reader) = opened();
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_over);
    let writer = std::thread::spawn(move || {
        for nth in 0..50_000_u64 {
            let key = format!("{nth}\0b\0c\0{nth}");
            edge.begin(0, 0, nth as f64, key.as_bytes());
            edge.close(0);
            edge.free(0, 7 + nth);
        }
        ends.store(true, SeqCst);
    });
    while !is_over.load(SeqCst) {
        for row in reader.rows(&[String::new()], false) {
            let nth = row.generation - 7;
            assert_eq!(row.key, format!("{nth}\0b\0c\0{nth}"));
            assert_eq!(row.minute, nth as i64);
        }
    }
    writer.join().unwrap();
}

#[test]
fn events_wait_until_they_are_drained() {
    let (_dir, edge, reader) = opened();
    for nth in 0..RING {
        assert!(edge.add_event(nth % 3, &format!("{nth}")));
    }
    assert!(!edge.add_event(0, "one too many"));
    let (head, events) = reader.events(RING as u64 - 2);
    assert_eq!((head, events.len()), (RING as u64, 2));
    assert_eq!((events[1].text.as_str(), events[1].kind), ("4095", 0));
    reader.set_number(crate::cells::TAIL, head as f64);
    assert!(edge.add_event(1, "the next"));
    let (_, events) = reader.events(0);
    assert_eq!(events.len(), RING, "the oldest one was overwritten");
}
