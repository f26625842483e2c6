//! What workers tell of turns, as pages see it: of turns that this server gave away, and of those that others gave away.

use std::time::Duration;

use haft_contract::BoxFuture;
use haft_gateway::{RemoteEvent, ServedSessions};
use serde::Deserialize;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::GivenTurns;
use crate::tenants::{LineSender, ServerWord};

/// After a failure of the queue or the database.
const AGAIN: Duration = Duration::from_millis(500);
/// How often it is looked for turns that nobody runs any more.
const LOOK: Duration = Duration::from_secs(5);

/// Events of a turn that runs, by its session.
type PastTurns = Vec<(String, Vec<RemoteEvent>)>;

/// Whose pages show it.
pub(in crate::commands::serve) enum TurnAudience {
    /// Those of this server.
    Own(ServedSessions),
    /// Those of a tenant.
    Tenant(LineSender),
}

impl TurnAudience {
    async fn events(&self, session: String, events: Vec<RemoteEvent>) {
        match self {
            Self::Own(sessions) => {
                for event in events {
                    sessions.mirror_event(&session, event).await;
                }
            }
            Self::Tenant(lines) => drop(lines.send(&ServerWord::Events { session, events }).await),
        }
    }

    async fn catch_up(&self, turns: PastTurns) {
        match self {
            Self::Own(sessions) => show_past(sessions, turns).await,
            Self::Tenant(lines) => drop(lines.send(&ServerWord::CatchUp { turns }).await),
        }
    }
}

/// What a worker publishes.
#[derive(Deserialize)]
struct SessionEvents {
    session: String,
    events: Vec<RemoteEvent>,
}

/// Shows what workers tell, with what they told of turns that run already; after a break it continues with the next number. Says once
/// that it listens.
pub(in crate::commands::serve) async fn follow(
    given: GivenTurns,
    audience: TurnAudience,
    stop: CancellationToken,
    mut listens: Option<oneshot::Sender<()>>,
) {
    let mut last = None;
    while !stop.is_cancelled() {
        tokio::select! {
            () = stop.cancelled() => return,
            () = follow_once(&given, &audience, &mut last, &mut listens) => {}
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn follow_once(given: &GivenTurns, audience: &TurnAudience, last: &mut Option<u64>, listens: &mut Option<oneshot::Sender<()>>) {
    let Ok(mut events) = given.link.queue.events(&given.scope.subject(">"), *last).await else { return };
    if last.is_none() || events.has_missed {
        let Some(turns) = past_turns(given, events.last()).await else { return };
        audience.catch_up(turns).await;
        *last = Some(events.last());
    }
    if let Some(listens) = listens.take() {
        listens.send(()).ok();
    }
    while let Ok(event) = events.next().await {
        *last = Some(event.sequence);
        // Of another version: what cannot be read is not shown.
        let Ok(SessionEvents { session, events }) = serde_json::from_slice(&event.body) else { continue };
        audience.events(session, events).await;
    }
}

/// What was told of turns that run, as far as events are kept.
async fn past_turns(given: &GivenTurns, until: u64) -> Option<PastTurns> {
    let mut turns = Vec::new();
    for session in given.held_sessions().await.unwrap_or_default() {
        let past = given.link.queue.past_events(&given.scope.subject(&session), until).await.ok()?;
        let told = past.iter().filter_map(|event| serde_json::from_slice::<SessionEvents>(&event.body).ok());
        let told: Vec<RemoteEvent> = told.flat_map(|told| told.events).collect();
        let earlier_turns = told.iter().rposition(|event| *event == RemoteEvent::Over).map_or(0, |over| over + 1);
        turns.push((session, told.into_iter().skip(earlier_turns).collect()));
    }
    Some(turns)
}

/// Shows the turns that run when this server starts, or of which it missed something.
pub(in crate::commands::serve) async fn show_past(sessions: &ServedSessions, turns: PastTurns) {
    for session in sessions.mirrored() {
        sessions.mirror_event(&session, RemoteEvent::Over).await;
    }
    let own = sessions.running();
    for (session, events) in turns.into_iter().filter(|(session, _)| !own.contains(session)) {
        // What was asked of a canvas is answered, or given up.
        let is_past = |event: &RemoteEvent| matches!(event, RemoteEvent::Canvas { command, .. } if !command.changes_display());
        for event in events.into_iter().filter(|event| !is_past(event)) {
            sessions.mirror_event(&session, event).await;
        }
    }
}

/// Knows which turns are not settled.
pub(in crate::commands::serve) trait HeldTurns: Send + Sync {
    /// Their sessions; `None` if that is not known now.
    fn list_held(&self) -> BoxFuture<'_, Option<Vec<String>>>;
}

impl HeldTurns for GivenTurns {
    fn list_held(&self) -> BoxFuture<'_, Option<Vec<String>>> {
        Box::pin(self.held_sessions())
    }
}

/// Ends what is shown of turns that nobody runs any more, and of which nobody says so: their server and their worker were lost.
pub(in crate::commands::serve) async fn end_lost(turns: impl HeldTurns, sessions: ServedSessions, stop: CancellationToken) {
    let mut absent = Vec::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK) => {}
        }
        let mirrored = sessions.mirrored();
        if mirrored.is_empty() {
            absent.clear();
            continue;
        }
        let Some(held) = turns.list_held().await else { continue };
        let gone: Vec<String> = mirrored.into_iter().filter(|session| !held.contains(session)).collect();
        // Its last events may be on their way.
        for session in gone.iter().filter(|session| absent.contains(*session)) {
            sessions.mirror_event(session, RemoteEvent::Over).await;
        }
        absent = gone;
    }
}
