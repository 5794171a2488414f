//! A bundle whose signatures are checked by other threads while everything else about it is judged.

use super::check::{Problem, Source, Verdict, is_signed_at, look_all};
use super::tips::Rules;
use super::turns::Turns;

/// The members of one bundle, decoded. Each method may run on any thread, beside the others.
#[derive(Debug)]
pub struct BundleCheck {
    members: Vec<Result<Vec<u8>, Problem>>,
    turns: Turns,
}

impl BundleCheck {
    pub fn new(members: Vec<Result<Vec<u8>, Problem>>) -> BundleCheck {
        let turns = Turns::new(members.len(), true);
        BundleCheck { members, turns }
    }

    pub fn member_count(&self) -> usize {
        self.members.len()
    }

    /// Everything but the signatures.
    pub fn look(&self, rules: &Rules) -> Verdict {
        look_all(&self.sources(), rules).0
    }

    /// Checks signatures that no other thread has begun with, up to the first wrong one.
    pub fn sign(&self) {
        let sources = self.sources();
        self.turns.work(|index| is_signed_at(&sources, index));
    }

    /// The first member that is not signed as it says, or is no transaction, once no thread is in
    /// `sign`. The outer `None`: one of them has failed, or none was there.
    pub fn first_wrong(&self) -> Option<Option<usize>> {
        self.turns.first_wrong()
    }

    fn sources(&self) -> Vec<Source<'_>> {
        self.members.iter().map(Source::of).collect()
    }
}
