//! The part of a stream at PROCESSED, and of one of `SubscribeDeshred`: what is passed through.

use tonic::Status;

use super::{State, Subscription};
use crate::message::Update;
use crate::source::Passing;

impl Subscription {
    /// The next update of the batch that the stream is at. Filters change between two batches.
    pub(super) fn next_of_batch(&mut self) -> Option<Update> {
        let State {
            filters, passing, ..
        } = &mut self.state;
        let update = passing.as_mut()?.next(filters);
        if update.is_none() {
            *passing = None;
            self.control.hold(0);
        }
        update
    }

    /// Begins with the next batch, or waits for it.
    pub(super) async fn begin_batch(&mut self) -> Result<(), Status> {
        let State {
            filters, follow, ..
        } = &mut self.state;
        let batch = match follow {
            Some(follow) => follow.next()?,
            None => None,
        };
        let Some(batch) = batch else {
            return self.wait().await;
        };
        self.control.hold(batch.content.slot);
        self.state.passing = Some(Passing::of(filters, batch, self.is_deshred).await);
        Ok(())
    }
}
