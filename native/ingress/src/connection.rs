//! One connection, from its handshake to its end.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use quinn::{Connection, Incoming};
use sys::shares::{Share, owner_of};
use sys::turns::Line;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::close::Close;
use crate::event::Event;
use crate::shared::{Opened, Shared, Verdict, lock};
use crate::stream::{self, Flight, Served};

/// The client gives up as early.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// For the event loop to look a token up.
const VERDICT: Duration = Duration::from_secs(5);
/// How long a refused connection is kept. To the published client the handshake has succeeded when
/// it is refused, so it connects again without a pause, and a handshake takes 0.3 ms of the thread.
const REFUSED: Duration = Duration::from_secs(1);
/// While it drains, a connection that is never idle is closed after this time, once what it has
/// sent until then is answered.
const DRAIN_BUSY: Duration = Duration::from_millis(500);
/// The longest answers of upstreams.
const DRAIN_ANSWERS: Duration = Duration::from_secs(20);

/// A connection that the event loop knows by its number, until this is dropped.
struct Registered {
    shared: Arc<Shared>,
    id: u32,
}

impl Registered {
    fn new(
        shared: &Arc<Shared>,
        connection: &Connection,
        verdict: oneshot::Sender<Verdict>,
        paused: &watch::Sender<bool>,
    ) -> Registered {
        let id = shared.next_connection();
        let opened = Opened {
            connection: connection.clone(),
            verdict: Some(verdict),
            paused: paused.clone(),
        };
        lock(&shared.connections).insert(id, opened);
        Registered {
            shared: Arc::clone(shared),
            id,
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        lock(&self.shared.connections).remove(&self.id);
    }
}

/// A connection whose token is accepted, and what it has taken.
struct Admitted {
    registered: Registered,
    address: IpAddr,
    owner: Arc<str>,
    /// No stream is taken meanwhile.
    paused: watch::Sender<bool>,
    _by_address: Share<IpAddr>,
    _by_access: Share<Arc<str>>,
}

pub async fn run(shared: Arc<Shared>, incoming: Incoming, handshake: Share<IpAddr>) {
    let Ok(connecting) = incoming.accept() else {
        return;
    };
    let Ok(Ok(connection)) = timeout(HANDSHAKE, connecting).await else {
        return;
    };
    match admit(&shared, &connection).await {
        Ok(admitted) => {
            drop(handshake);
            serve(&connection, admitted).await;
        }
        Err(close) => {
            tokio::select! {
                () = sleep(REFUSED) => {}
                () = until(shared.draining.subscribe(), true) => {}
                _ = connection.closed() => {}
            }
            close.apply(&connection);
        }
    }
}

/// Has the event loop look up who it is.
async fn admit(shared: &Arc<Shared>, connection: &Connection) -> Result<Admitted, Close> {
    let greeted = shared.dialect.greet(connection).await;
    let greeted = greeted.ok_or(Close::BadCert)?;
    let address = connection.remote_address().ip().to_canonical();
    let by_address = shared
        .by_address
        .take(owner_of(connection.remote_address()));
    let by_address = by_address.ok_or(Close::ConnectionLimit)?;
    let (sender, verdict) = oneshot::channel();
    let paused = watch::Sender::new(false);
    let registered = Registered::new(shared, connection, sender, &paused);
    let event = Event::Connected {
        connection: registered.id,
        address,
        token: greeted.identity.token.clone(),
        wants_protection: greeted.identity.wants_protection,
    };
    shared.queue.push(&Line::Address(address), event);
    let verdict = timeout(VERDICT, verdict).await;
    let is_known = matches!(verdict, Ok(Ok(Verdict::Admitted { .. })));
    greeted.answer(is_known).await;
    match verdict {
        Ok(Ok(Verdict::Admitted { owner, connections })) => Ok(Admitted {
            registered,
            address,
            owner,
            paused,
            _by_address: by_address,
            _by_access: connections,
        }),
        Ok(Ok(Verdict::Refused(close))) => Err(close),
        _ => Err(Close::Unavailable),
    }
}

/// Takes streams until the connection ends, and reports its end after them.
async fn serve(connection: &Connection, admitted: Admitted) {
    let Registered { shared, id } = &admitted.registered;
    let line = Line::Access(Arc::clone(&admitted.owner));
    let served = Arc::new(Served::new(shared, *id, &admitted.owner));
    let mut reading = JoinSet::new();
    tokio::select! {
        () = take_streams(connection, &admitted, &served, &mut reading) => {}
        () = until(shared.draining.subscribe(), true) => {
            tokio::select! {
                () = take_streams(connection, &admitted, &served, &mut reading) => {}
                () = served.idle() => {}
                () = sleep(DRAIN_BUSY) => {}
            }
            // Nothing of the new ones is taken: what is in flight is answered.
            let _ = timeout(DRAIN_ANSWERS, served.idle()).await;
            Close::Unavailable.apply(connection);
        }
    }
    // What has arrived before the end is read to its end: a client may send and leave.
    while reading.join_next().await.is_some() {}
    shared.queue.push(&line, Event::Closed { connection: *id });
}

async fn until(mut state: watch::Receiver<bool>, wanted: bool) {
    let _ = state.wait_for(|is| *is == wanted).await;
}

async fn take_streams(
    connection: &Connection,
    Admitted {
        address, paused, ..
    }: &Admitted,
    served: &Arc<Served>,
    reading: &mut JoinSet<()>,
) {
    loop {
        tokio::select! {
            biased;
            () = until(paused.subscribe(), false) => {}
            _ = connection.closed() => {}
        }
        let (receive, send) = tokio::select! {
            accepted = connection.accept_uni() => match accepted {
                Ok(receive) => (receive, None),
                Err(_) => return,
            },
            accepted = connection.accept_bi() => match accepted {
                Ok((send, receive)) => (receive, Some(send)),
                Err(_) => return,
            },
            Some(_) = reading.join_next() => continue,
        };
        // Its token was accepted for the other address.
        if connection.remote_address().ip().to_canonical() != *address {
            return Close::AddressChanged.apply(connection);
        }
        let flight = Flight::new(served);
        reading.spawn(stream::take(flight, receive, send));
    }
}

impl Served {
    /// Resolves once no stream is in flight.
    async fn idle(&self) {
        loop {
            let changed = self.changed.notified();
            if self.in_flight.load(Ordering::Acquire) == 0 {
                return;
            }
            changed.await;
        }
    }
}
