//! Resumed subscriptions: what they missed is read again, until they reach the walk at the tip.
//!
//! Each socket has a walk of its own, so one that is slow waits alone, and its subscriptions share
//! what is read. Each pass does a limited part after the frames of the tip. Accesses take turns,
//! and so do the sockets of each: however many subscriptions someone resumes, others wait for a
//! part of each access at most. A subscription joins the tip between two slots, so nothing is lost
//! or repeated there; before it has joined, it has no frames of the tip.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::frames::Frames;
use super::interest::{Resume, Subscription};
use super::slot::Work;
use super::socket_replay::SocketReplay;
use super::walk::Walk;
use store::Snapshot;
use sys::error::Result;

/// Bytes of frames that a pass replays; one may be larger. With the bytes that it reads for them,
/// this delays the frames of the tip by 2 to 3 ms.
pub const REPLAY_FRAMES_BYTES: usize = 512 * 1024;
/// Bytes of changes that a pass reads to replay.
pub const REPLAY_LOOKED_AT_BYTES: usize = 4 * 1024 * 1024;
/// All resumed subscriptions that have not reached the tip.
#[derive(Default)]
pub struct Replays {
    sockets: HashMap<u32, SocketReplay>,
    socket_of: HashMap<u32, u32>,
    /// Accesses with their sockets; the next ones first.
    turns: VecDeque<(Arc<str>, VecDeque<u32>)>,
}

impl Replays {
    pub fn is_empty(&self) -> bool {
        self.socket_of.is_empty()
    }

    pub fn add(&mut self, id: u32, subscription: Subscription, resume: &Resume) {
        let socket = resume.socket;
        self.socket_of.insert(id, socket);
        let replay = self.sockets.entry(socket).or_insert_with(|| {
            let known = self.turns.iter_mut().find(|(of, _)| *of == resume.access);
            match known {
                Some((_, sockets)) => sockets.push_back(socket),
                None => self
                    .turns
                    .push_back((Arc::clone(&resume.access), VecDeque::from([socket]))),
            }
            SocketReplay::default()
        });
        replay.add(id, subscription, resume.cursor);
    }

    pub fn remove(&mut self, id: u32) {
        let socket = self.socket_of.remove(&id);
        if let Some(replay) = socket.and_then(|socket| self.sockets.get_mut(&socket)) {
            replay.remove(id);
        }
        if self.socket_of.is_empty() {
            self.sockets.clear();
            self.turns.clear();
        }
    }

    /// Writes frames of the sockets whose turn it is. Returns whether more can be written at once.
    pub fn advance(
        &mut self,
        live: &mut Walk,
        snapshot: &Snapshot<'_>,
        frames: &mut Frames,
        work: &mut Work,
        held: &HashSet<u32>,
    ) -> Result<bool> {
        let mut has_more = false;
        for _ in 0..self.turns.len() {
            let Some((access, mut sockets)) = self.turns.pop_front() else {
                break;
            };
            for _ in 0..sockets.len() {
                let Some(socket) = sockets.pop_front() else {
                    break;
                };
                let Some(replay) = self.sockets.get_mut(&socket) else {
                    continue;
                };
                if !held.contains(&socket) {
                    has_more |= replay.step(live, snapshot, frames, work)?;
                    for id in replay.joined.drain(..) {
                        self.socket_of.remove(&id);
                    }
                }
                if replay.is_empty() {
                    self.sockets.remove(&socket);
                } else {
                    sockets.push_back(socket);
                }
                if frames.is_full() || work.is_done() {
                    has_more = true;
                    break;
                }
            }
            if !sockets.is_empty() {
                self.turns.push_back((access, sockets));
            }
            if frames.is_full() || work.is_done() {
                break;
            }
        }
        Ok(has_more)
    }
}
