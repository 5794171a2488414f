//! Decides the pause, the resume slot and the health state after a failure. No I/O and no clock.

use super::config::GeyserConfig;
use super::event::Event;
use super::failure::Failure;

/// State that lasts across all subscriptions of one reader.
pub struct Health {
    backoff_initial_ms: u64,
    backoff_factor: u64,
    backoff_max_ms: u64,
    backoff_long_ms: u64,
    block_silence_ms: u64,
    failures_max: u32,
    gap_attempts_max: u32,
    start_slot: Option<u64>,

    /// Consecutive failures since the last committed block.
    failures: u32,
    gaps: u32,
    is_after_tip: bool,
    state: State,
}

enum State {
    Starting,
    Healthy,
    Unhealthy(String),
}

impl Health {
    pub fn new(config: &GeyserConfig) -> Health {
        Health {
            backoff_initial_ms: config.backoff_initial_ms,
            backoff_factor: config.backoff_factor.into(),
            backoff_max_ms: config.backoff_max_ms,
            backoff_long_ms: config.backoff_long_ms,
            block_silence_ms: config.block_silence_ms,
            failures_max: config.failures_max,
            gap_attempts_max: config.gap_attempts_max,
            start_slot: config.start_slot,
            failures: 0,
            gaps: 0,
            is_after_tip: false,
            state: State::Starting,
        }
    }

    /// Slot at which the next subscription starts: the tip's slot, so that its blockhash can be
    /// compared, or the slot after it when the server no longer has the tip's slot.
    pub fn resume_slot(&self, tip_slot: Option<u64>) -> Option<u64> {
        match tip_slot {
            Some(slot) => Some(slot.saturating_add(u64::from(self.is_after_tip))),
            None => self.start_slot,
        }
    }

    /// Records a committed block.
    pub fn on_committed(&mut self) -> Option<Event> {
        self.failures = 0;
        self.gaps = 0;
        self.is_after_tip = false;
        match std::mem::replace(&mut self.state, State::Healthy) {
            State::Healthy => None,
            State::Starting | State::Unhealthy(_) => Some(Event::Healthy),
        }
    }

    /// Returns the events to send, in order, and the pause in ms. The last event is
    /// [`Event::Disconnected`] with that pause. `silent_ms` is the time since the last block.
    pub fn on_failure(
        &mut self,
        failure: &Failure,
        tip_slot: Option<u64>,
        silent_ms: u64,
    ) -> (Vec<Event>, u64) {
        self.failures = self.failures.saturating_add(1);
        let mut events = Vec::new();
        let mut retry_in_ms = self.backoff_ms();
        let unhealthy = match failure {
            Failure::Passing(text) if self.failures >= self.failures_max => Some(format!(
                "{} failures in a row, the last: {text}",
                self.failures_max
            )),
            // Each attempt may wait for its own timeout, so a few of them outlast a blockhash.
            Failure::Passing(text) if silent_ms >= self.block_silence_ms => Some(format!(
                "no block for {} ms (blockSilenceMs), the last failure: {text}",
                self.block_silence_ms
            )),
            Failure::Passing(_) => None,
            Failure::Stuck(text) | Failure::Store(text) => Some(text.clone()),
            Failure::Refused(text) | Failure::Unserved(text) => {
                retry_in_ms = self.backoff_long_ms;
                Some(text.clone())
            }
            Failure::ReplayGone(_) if tip_slot.is_some() && !self.is_after_tip => {
                // The server's oldest slot may be the tip's child.
                self.is_after_tip = true;
                retry_in_ms = self.backoff_initial_ms;
                None
            }
            Failure::ReplayGone(text) | Failure::ReplayUnsupported(text) => {
                retry_in_ms = self.backoff_long_ms;
                Some(match tip_slot {
                    Some(slot) => format!("gap after slot {slot}: {text}"),
                    None => format!("the feed cannot begin at start_slot: {text}"),
                })
            }
            Failure::Gap(gap) => {
                events.push(Event::Gap(gap.clone()));
                self.gaps = self.gaps.saturating_add(1);
                if self.gaps > self.gap_attempts_max {
                    retry_in_ms = self.backoff_long_ms;
                    Some(gap.to_string())
                } else {
                    None
                }
            }
        };
        if let Some(reason) = unhealthy {
            if !matches!(&self.state, State::Unhealthy(known) if *known == reason) {
                events.push(Event::Unhealthy {
                    reason: reason.clone(),
                    cause: failure.cause(),
                });
            }
            self.state = State::Unhealthy(reason);
        }
        events.push(Event::Disconnected {
            reason: failure.text(),
            retry_in_ms,
        });
        (events, retry_in_ms)
    }

    fn backoff_ms(&self) -> u64 {
        let steps = self.failures.saturating_sub(1);
        self.backoff_factor
            .saturating_pow(steps)
            .saturating_mul(self.backoff_initial_ms)
            .min(self.backoff_max_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{Gap, GapKind};
    use super::*;

    fn health() -> Health {
        Health::new(&GeyserConfig {
            start_slot: Some(3),
            ..GeyserConfig::default()
        })
    }

    fn unhealthy(events: &[Event]) -> Option<&str> {
        events.iter().find_map(|event| match event {
            Event::Unhealthy { reason, .. } => Some(reason.as_str()),
            _ => None,
        })
    }

    #[test]
    fn the_pause_doubles_up_to_the_maximum_and_resets_after_a_block() {
        let mut health = health();
        let drop = Failure::Passing("drop".into());
        let pauses: Vec<u64> = (0..8)
            .map(|_| health.on_failure(&drop, Some(1), 0).1)
            .collect();
        assert_eq!(
            pauses,
            [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]
        );
        health.on_committed();
        assert_eq!(health.on_failure(&drop, Some(1), 0).1, 500);
    }

    #[test]
    fn repeated_failures_report_unhealthy_once_and_a_block_reports_healthy() {
        let mut health = health();
        assert_eq!(health.on_committed(), Some(Event::Healthy));
        assert_eq!(health.on_committed(), None);
        let drop = Failure::Passing("drop".into());
        let reported: Vec<bool> = (0..7)
            .map(|_| unhealthy(&health.on_failure(&drop, None, 0).0).is_some())
            .collect();
        assert_eq!(reported, [false, false, false, false, true, false, false]);
        assert_eq!(health.on_committed(), Some(Event::Healthy));
    }

    #[test]
    fn a_feed_without_a_block_for_too_long_is_unhealthy_with_its_next_failure() {
        let mut health = health();
        let drop = Failure::Passing("no connection".into());
        let (events, _) = health.on_failure(&drop, Some(1), 9_999);
        assert_eq!(unhealthy(&events), None);
        let (events, pause) = health.on_failure(&drop, Some(1), 10_000);
        let reason = "no block for 10000 ms (blockSilenceMs), the last failure: no connection";
        assert_eq!((unhealthy(&events), pause), (Some(reason), 1_000));
        let (events, _) = health.on_failure(&drop, Some(1), u64::MAX);
        assert_eq!(unhealthy(&events), None, "said once");
    }

    #[test]
    fn a_tip_missing_on_the_server_is_retried_once_from_the_next_slot() {
        let mut health = health();
        let gone = Failure::ReplayGone("last available: 9".into());
        assert_eq!(health.resume_slot(Some(8)), Some(8));
        let (events, pause) = health.on_failure(&gone, Some(8), 0);
        assert_eq!((unhealthy(&events), pause), (None, 500));
        assert_eq!(health.resume_slot(Some(8)), Some(9));
        let (events, pause) = health.on_failure(&gone, Some(8), 0);
        assert_eq!(
            unhealthy(&events),
            Some("gap after slot 8: last available: 9")
        );
        assert_eq!(pause, 30_000);
        health.on_committed();
        assert_eq!(health.resume_slot(Some(8)), Some(8));
    }

    #[test]
    fn an_empty_store_starts_at_start_slot() {
        let mut health = health();
        assert_eq!(health.resume_slot(None), Some(3));
        let (events, _) = health.on_failure(&Failure::ReplayUnsupported("no".into()), None, 0);
        assert_eq!(
            unhealthy(&events),
            Some("the feed cannot begin at start_slot: no")
        );
    }

    #[test]
    fn a_gap_is_reported_unhealthy_after_the_allowed_replays() {
        let mut health = health();
        let gap = Failure::Gap(Gap {
            tip_slot: 5,
            slot: 9,
            parent_slot: 8,
            kind: GapKind::Missing,
        });
        for _ in 0..3 {
            assert_eq!(unhealthy(&health.on_failure(&gap, Some(5), 0).0), None);
        }
        let (events, pause) = health.on_failure(&gap, Some(5), 0);
        let reason = "gap after slot 5: the feed gave slot 9, whose parent 8 never came";
        assert_eq!((unhealthy(&events), pause), (Some(reason), 30_000));
    }
}
