//! Tests on damaged pages: a walk ends inside a page or finds nothing, without other faults.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{LARGE, MIXED, SMALL, key, stored, tree_of};
use crate::btree_prefetch::walk::{KEYS_AT_ONCE, PAGE_BYTES, Page, Pages, Tree, walk};
use primitives::Pubkey;

const FIRST: u64 = 2;

/// A copy of a real store's pages, to be damaged.
#[derive(Clone)]
struct Copied(Vec<Option<Box<Page>>>);

impl Pages for Copied {
    fn page(&self, number: u64) -> Option<&Page> {
        let index = usize::try_from(number.checked_sub(FIRST)?).ok()?;
        self.0.get(index)?.as_deref()
    }
}

fn copied(count: u64, sizes: &[usize]) -> (Copied, Tree) {
    let temporary = stored(count, sizes);
    let snapshot = temporary.store.snapshot().unwrap();
    let last = temporary.store.env.info().last_page_number;
    let pages = temporary
        .store
        .mapped
        .as_ref()
        .unwrap()
        .pages(&snapshot.txn, last);
    let numbers = FIRST..=last as u64;
    let copies = numbers
        .map(|number| Some(Box::new(*pages.page(number).unwrap())))
        .collect();
    (Copied(copies), tree_of(&snapshot).unwrap())
}

fn row(root: u64, depth: u16) -> Option<Tree> {
    let mut row = [0; 48];
    row[6..8].copy_from_slice(&depth.to_ne_bytes());
    row[40..].copy_from_slice(&root.to_ne_bytes());
    Tree::of(&row)
}

/// Asserts that every value is inside one of the pages.
fn assert_ends_inside(pages: &Copied, tree: Tree, keys: &[Pubkey]) {
    for value in walk(pages, tree, keys).into_iter().flatten() {
        let of_value = value.as_ptr_range();
        let holds = |page: &Page| {
            let of_page = page.as_ptr_range();
            of_page.start <= of_value.start && of_value.end <= of_page.end
        };
        assert!(pages.0.iter().flatten().any(|page| holds(page)));
    }
}

/// Headers, node offsets and nodes are damaged more often than the rest.
fn offset() -> impl Strategy<Value = usize> {
    prop_oneof![0usize..24, 0usize..256, 3_800usize..4_096, 0usize..4_096]
}

fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![any::<u8>(), Just(0), Just(1), Just(2), Just(0xFF)]
}

#[test]
fn damaged_pages_end_a_walk() {
    let stores = [(300, SMALL), (120, MIXED), (900, LARGE)].map(|(n, sizes)| copied(n, sizes));
    for (pages, tree) in &stores {
        let keys: Vec<Pubkey> = (0..KEYS_AT_ONCE as u64).map(key).collect();
        assert_eq!(
            walk(pages, *tree, &keys).iter().flatten().count(),
            KEYS_AT_ONCE
        );
    }
    let damage = vec((any::<prop::sample::Index>(), offset(), byte()), 0..400);
    let missing = prop::option::of(any::<prop::sample::Index>());
    let keys = vec(
        prop_oneof![(0u64..900).prop_map(key), any::<Pubkey>()],
        0..20,
    );
    let root = prop::option::of((0u64..400, 1u16..=16));
    let config = ProptestConfig::with_cases(400);
    proptest!(config, |(which in 0usize..3, damage in damage, missing in missing, keys in keys, root in root)| {
        let (pages, tree) = &stores[which];
        let mut pages = pages.clone();
        for (page, at, byte) in damage {
            let count = pages.0.len();
            pages.0[page.index(count)].as_mut().unwrap()[at] = byte;
        }
        if let Some(page) = missing {
            let count = pages.0.len();
            pages.0[page.index(count)] = None;
        }
        let tree = root.map_or(Some(*tree), |(root, depth)| row(root, depth)).unwrap();
        assert_ends_inside(&pages, tree, &keys);
    });
}

#[test]
fn a_walk_of_a_cyclic_tree_ends() {
    // A branch page whose only nodes point to the page itself.
    let mut page = Box::new([0; PAGE_BYTES]);
    page[10..12].copy_from_slice(&1u16.to_ne_bytes());
    page[12..14].copy_from_slice(&20u16.to_ne_bytes());
    for (index, at) in [(0, 4_000u16), (1, 4_040)] {
        page[16 + 2 * index..18 + 2 * index].copy_from_slice(&at.to_ne_bytes());
        let node = &mut page[usize::from(at)..];
        node[..4].copy_from_slice(&2u32.to_ne_bytes());
        node[6..8].copy_from_slice(&32u16.to_ne_bytes());
    }
    let keys = [[0; 32], [1; 32], [0xFF; 32]];
    let pages = Copied(vec![Some(page)]);
    let values = walk(&pages, row(2, 16).unwrap(), &keys);
    assert_eq!(values, [None; KEYS_AT_ONCE]);
}
