//! Whether block footers are requested. A server may refuse a whole subscription for them, and an
//! index without footers is better than none.

use std::time::{Duration, Instant};

use super::failure::Failure;

/// How long a server that refuses them is not asked for them.
const LEFT_OUT: Duration = Duration::from_secs(600);

/// The state of one server.
#[derive(Debug, Default)]
pub enum Footers {
    #[default]
    Asked,
    /// The last subscription was refused with them; it is not known whether they are the reason.
    Doubted,
    /// Without them the server has sent blocks.
    Refused(Instant),
}

impl Footers {
    /// Whether the next subscription requests them.
    pub fn are_asked(&self, now: Instant) -> bool {
        match self {
            Footers::Asked => true,
            Footers::Doubted => false,
            Footers::Refused(since) => now.duration_since(*since) >= LEFT_OUT,
        }
    }

    /// A subscription has ended that requested them or not. True if the next one is to follow at
    /// once, without them.
    pub fn on_end(&mut self, were_asked: bool, failure: Option<&Failure>) -> bool {
        let is_unserved = matches!(failure, Some(Failure::Unserved(_)));
        if is_unserved && were_asked {
            *self = Footers::Doubted;
            return true;
        }
        if is_unserved && matches!(self, Footers::Doubted) {
            *self = Footers::Asked;
        }
        false
    }

    /// A block was committed.
    pub fn on_committed(&mut self, now: Instant) {
        if matches!(self, Footers::Doubted) {
            *self = Footers::Refused(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footers_are_left_out_for_a_while_if_blocks_come_without_them() {
        let unserved = Failure::Unserved("no".into());
        let passing = Failure::Passing("gone".into());
        let now = Instant::now();
        let mut footers = Footers::default();
        assert!(footers.are_asked(now));
        assert!(!footers.on_end(true, Some(&passing)), "another reason");
        assert!(footers.are_asked(now));
        assert!(footers.on_end(true, Some(&unserved)));
        assert!(!footers.are_asked(now));
        assert!(!footers.on_end(false, Some(&passing)), "not known yet");
        assert!(!footers.are_asked(now));
        footers.on_committed(now);
        assert!(!footers.on_end(false, Some(&unserved)), "another filter");
        assert!(!footers.are_asked(now + LEFT_OUT - Duration::from_millis(1)));
        assert!(footers.are_asked(now + LEFT_OUT));
        assert!(footers.on_end(true, Some(&unserved)), "refused again");
        assert!(!footers.are_asked(now + LEFT_OUT));
    }

    #[test]
    fn footers_are_requested_again_if_the_server_refuses_the_rest_too() {
        let unserved = Failure::Unserved("no".into());
        let mut footers = Footers::default();
        assert!(footers.on_end(true, Some(&unserved)));
        assert!(!footers.on_end(false, Some(&unserved)));
        assert!(footers.are_asked(Instant::now()));
    }
}
