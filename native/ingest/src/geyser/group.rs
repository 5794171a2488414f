//! A group of blocks written in one commit.

use std::collections::VecDeque;

use super::update::{Origin, Ready};
use store::Block;

/// Limits of [`Group`]. See `GeyserConfig`.
#[derive(Debug, Clone, Copy)]
pub struct GroupBounds {
    pub blocks_max: usize,
    pub bytes_max: usize,
}

/// At least one block; consecutive, oldest first.
#[derive(Debug, Default)]
pub struct Group {
    pub blocks: Vec<Block>,
    pub origins: Vec<Origin>,
    pub bytes: usize,
}

impl Group {
    /// Takes queued blocks within the limits. Returns `None` when the queue is empty. Takes the
    /// first block regardless of its size, and does not wait for more blocks.
    pub fn take(waiting: &mut VecDeque<Ready>, bounds: GroupBounds) -> Option<Group> {
        let mut group = Group::default();
        while let Some(ready) = waiting.pop_front_if(|ready| group.has_room(ready.bytes, bounds)) {
            group.bytes += ready.bytes;
            group.blocks.push(ready.block);
            group.origins.push(ready.origin);
        }
        (!group.blocks.is_empty()).then_some(group)
    }

    fn has_room(&self, bytes: usize, bounds: GroupBounds) -> bool {
        self.blocks.is_empty()
            || (self.blocks.len() < bounds.blocks_max
                && self.bytes.saturating_add(bytes) <= bounds.bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(bytes: &[usize]) -> VecDeque<Ready> {
        let ready = |(slot, bytes): (u64, &usize)| Ready {
            block: Block {
                slot,
                ..Block::default()
            },
            origin: Origin {
                created_ms: Some(slot),
                ..Origin::default()
            },
            bytes: *bytes,
        };
        (1..).zip(bytes).map(ready).collect()
    }

    /// Sizes of the groups formed from these blocks, in order.
    fn sizes(bytes: &[usize], blocks_max: usize, bytes_max: usize) -> Vec<usize> {
        let bounds = GroupBounds {
            blocks_max,
            bytes_max,
        };
        let mut waiting = waiting(bytes);
        let mut slot = 0;
        std::iter::from_fn(|| {
            let group = Group::take(&mut waiting, bounds)?;
            for (block, origin) in group.blocks.iter().zip(&group.origins) {
                slot += 1;
                assert_eq!((block.slot, origin.created_ms), (slot, Some(slot)));
            }
            let taken = &bytes[slot as usize - group.blocks.len()..slot as usize];
            assert_eq!(group.bytes, taken.iter().sum::<usize>());
            Some(group.blocks.len())
        })
        .collect()
    }

    #[test]
    fn a_group_is_limited_by_blocks_and_by_bytes() {
        assert_eq!(sizes(&[], 3, 100), [0; 0]);
        assert_eq!(sizes(&[1], 3, 100), [1]);
        assert_eq!(sizes(&[1; 7], 3, 100), [3, 3, 1]);
        assert_eq!(sizes(&[1; 3], 1, 100), [1, 1, 1]);
        assert_eq!(sizes(&[50, 50, 1, 99, 1], 9, 100), [2, 2, 1]);
    }

    #[test]
    fn a_block_over_the_byte_limit_is_written_alone() {
        assert_eq!(sizes(&[500, 1, 1], 9, 100), [1, 2]);
        assert_eq!(sizes(&[1, 500, usize::MAX, 1], 9, 100), [1, 1, 1, 1]);
    }
}
