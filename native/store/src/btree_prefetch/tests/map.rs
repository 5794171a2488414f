//! Tests of finding the map and its pages.

use super::{SMALL, stored};
use crate::btree_prefetch::mapped::mapping_of;
use crate::btree_prefetch::walk::{Pages, Tree};

const MAPS: &str = "\
55d0c0a00000-55d0c0a21000 r--p 00000000 fe:00 918 /usr/bin/node
7f1000000000-7f1000400000 r--s 00000000 fe:00 77 /a folder/data.mdb
7f1000400000-7f1000500000 r--s 00400000 fe:00 77 /a folder/data.mdb
7f1000500000-7f1000600000 rw-p 00000000 00:00 0
not a line
7fff00000000-";

#[test]
fn only_a_mapping_of_a_file_from_its_start_is_found() {
    let range = 0x7f10_0000_0000..0x7f10_0040_0000;
    assert_eq!(mapping_of(MAPS, range.start), Some(range.clone()));
    assert_eq!(mapping_of(MAPS, range.end - 1), Some(range.clone()));
    // The second part of a file, an anonymous mapping, and unmapped addresses.
    for address in [range.end, 0x7f10_0050_0000, range.start - 1, 0, usize::MAX] {
        assert_eq!(mapping_of(MAPS, address), None);
    }
    assert_eq!(mapping_of("", 1), None);
}

#[test]
fn table_pages_up_to_the_last_page_are_found() {
    let temporary = stored(300, SMALL);
    let snapshot = temporary.store.snapshot().unwrap();
    let mapped = temporary.store.mapped.as_ref().unwrap();
    let last = temporary.store.env.info().last_page_number;
    let pages = mapped.pages(&snapshot.txn, last);
    let page_bytes = temporary.store.env.stat().page_size as usize;
    for number in 2..=last as u64 {
        assert_eq!(pages.page(number).unwrap().len(), page_bytes);
    }
    for number in [0, 1, last as u64 + 1, u64::MAX, 1 << 52, 1 << 32] {
        assert!(pages.page(number).is_none(), "{number}");
    }
    // No page exists beyond the map, for any number of the last page.
    let beyond = (temporary.store.env.info().map_size / page_bytes) as u64;
    assert!(
        mapped
            .pages(&snapshot.txn, usize::MAX)
            .page(beyond)
            .is_none()
    );
}

#[test]
fn a_row_of_another_kind_is_not_a_tree() {
    let mut row = [0; 48];
    assert_eq!(Tree::of(&row), None, "no level");
    row[6..8].copy_from_slice(&2u16.to_ne_bytes());
    assert!(Tree::of(&row).is_some());
    assert_eq!(Tree::of(&row[..47]), None);
    assert_eq!(Tree::of(&[&row[..], &[0]].concat()), None);
    // Duplicate keys, integer keys, reverse key order.
    for flags in [0x04u16, 0x08, 0x02] {
        row[4..6].copy_from_slice(&flags.to_ne_bytes());
        assert_eq!(Tree::of(&row), None);
    }
    row[4..6].fill(0);
    row[6..8].copy_from_slice(&17u16.to_ne_bytes());
    assert_eq!(Tree::of(&row), None);
}
