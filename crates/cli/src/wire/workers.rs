//! The queue and the database that servers and workers share, and the work that they give each other.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use haft_fleet::{FleetError, FleetMetrics, FleetQueue, subject_of_session, subject_of_tenant};
use haft_provider::Block;
use haft_store::{PostgresWork, SaidMessage, StateStore, StoreError, new_uuid};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::WorkLimits;
use crate::failure::Failure;
use crate::output::note;
use crate::tenants::TenantRecord;

/// The address of the queue that the user names, which may hold a password.
pub(crate) fn queue_address() -> Option<String> {
    std::env::var("HAFT_QUEUE").ok().filter(|address| !address.is_empty())
}

/// The queue and the database.
#[derive(Debug, Clone)]
pub(crate) struct FleetLink {
    pub(crate) queue: FleetQueue,
    pub(crate) work: PostgresWork,
}

impl FleetLink {
    /// Connects; `None` if no queue is named.
    pub(crate) async fn open(store: &StateStore) -> Result<Option<Self>, Failure> {
        let Some(address) = queue_address() else { return Ok(None) };
        let StateStore::Postgres(log) = store else {
            let message = "HAFT_QUEUE names a queue, and HAFT_STORE names no database: workers need both".to_owned();
            return Err(Failure::usage(message).help("set HAFT_STORE to postgres://user@host/database, or unset HAFT_QUEUE"));
        };
        let queue = FleetQueue::connect(&address).await.map_err(|error| failure(&error))?;
        Ok(Some(Self { queue, work: log.work() }))
    }

    /// The same, where nothing can be done without.
    pub(crate) async fn required(store: &StateStore) -> Result<Self, Failure> {
        let unnamed =
            || Failure::usage("HAFT_QUEUE names no queue".to_owned()).help("set it to nats://host:4222, the same for all processes");
        Self::open(store).await?.ok_or_else(unnamed)
    }
}

pub(crate) fn failure(error: &FleetError) -> Failure {
    match error {
        FleetError::Address(_) => Failure::usage(error.to_string()),
        _ => Failure::failed("network_error", error.to_string()),
    }
}

/// Whose sessions are meant: what a tenant's have for themselves on the queue and in the database is nobody else's.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionScope(Option<String>);

impl SessionScope {
    /// The sessions of a tenant.
    pub(crate) fn of_tenant(route: &str) -> Self {
        Self(Some(route.to_owned()))
    }

    /// The subject of the events of a session; `>` is that of all.
    pub(crate) fn subject(&self, session: &str) -> String {
        self.0.as_deref().map_or_else(|| subject_of_session(session), |route| subject_of_tenant(route, session))
    }

    /// What the worker of a session listens to.
    pub(crate) fn control(&self, session: &str) -> String {
        self.0.as_deref().map_or_else(|| session.to_owned(), |route| format!("{route}-{session}"))
    }

    fn prefix(&self) -> String {
        self.0.as_deref().map_or_else(|| "session ".to_owned(), |route| format!("tenant {route} session "))
    }

    /// What a turn needs for itself alone.
    pub(crate) fn lock_name(&self, session: &str) -> String {
        format!("{}{session}", self.prefix())
    }

    /// The session that something held is, if it is one of these.
    pub(crate) fn session_of<'a>(&self, held: &'a str) -> Option<&'a str> {
        held.strip_prefix(&self.prefix())
    }
}

/// Stores what the user says to a turn.
pub(crate) async fn store_said(work: &PostgresWork, session: &str, text: &str) -> Result<(), String> {
    let said = SaidMessage { id: new_uuid().to_string(), text: text.to_owned() };
    work.say(session, &said).await.map_err(|error| error.to_string())
}

/// What was said to a session and is not in the conversation yet.
pub(crate) async fn unheard_texts(work: &PostgresWork, session: &str) -> Result<Vec<String>, String> {
    let said = work.list_said(session).await.map_err(|error| error.to_string())?;
    Ok(said.into_iter().map(|said| said.text).collect())
}

impl TenantWork {
    /// What the ids of all work of a tenant begin with.
    pub(crate) fn id_prefix(route: &str) -> String {
        format!("{route}-")
    }
}

/// Gives work of a tenant that no worker has begun the limits that hold now.
pub(crate) async fn renew_limits(work: &PostgresWork, record: TenantRecord) -> Result<(), StoreError> {
    let record = record.for_workers();
    for (id, body) in work.list_bodies(&TenantWork::id_prefix(&record.route)).await? {
        if let Some(current) = with_limits(&body, &record) {
            work.replace_body(&id, &body, &current).await?;
        }
    }
    Ok(())
}

/// The same, for a command that has changed them.
pub(crate) async fn renew_limits_in(store: &StateStore, record: TenantRecord) -> Result<(), StoreError> {
    let StateStore::Postgres(log) = store else { return Ok(()) };
    renew_limits(&log.work(), record).await
}

/// Work with these limits in place of those that it has; `None` if it has these. What else a newer version may say in it stays.
fn with_limits(body: &str, record: &TenantRecord) -> Option<String> {
    let mut work: Value = serde_json::from_str(body).ok()?;
    let (limits, current) = (work.get_mut("record")?, serde_json::to_value(record).ok()?);
    if *limits == current {
        return None;
    }
    *limits = current;
    Some(work.to_string())
}

/// How long workers may take to end what they run of a tenant that is removed.
const END_PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(100);

/// Takes back all work of a tenant, and waits until no worker runs any.
pub(crate) async fn end_tenant_work(store: &StateStore, route: &str) -> Result<(), Failure> {
    let StateStore::Postgres(log) = store else { return Ok(()) };
    let (work, prefix, until) = (log.work(), TenantWork::id_prefix(route), Instant::now() + END_PATIENCE);
    work.cancel_all(&prefix).await?;
    while work.count_unsettled(&prefix).await? > 0 && Instant::now() < until {
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

/// Removes the role of a tenant whose schema is gone.
pub(crate) async fn remove_tenant_role(store: &StateStore, route: &str) -> Result<(), Failure> {
    let StateStore::Postgres(log) = store else { return Ok(()) };
    Ok(log.work().remove_tenant_role(&crate::tenants::schema(route)).await?)
}

/// Answers Prometheus at this address, if one is given, until it is stopped.
pub(crate) async fn serve_metrics(metrics: &FleetMetrics, address: Option<SocketAddr>, stop: &CancellationToken) -> Result<(), Failure> {
    let Some(address) = address else { return Ok(()) };
    let serving = metrics.clone().serve(address, stop.clone()).await;
    let address = serving.map_err(|error| Failure::failed("execution_error", format!("{address} cannot be listened on: {error}")))?;
    note(&format!("Metrics: http://{address}/metrics"));
    Ok(())
}

/// What servers and workers say to each other about work. It grows when a worker that does not know of a change would do something else
/// than was meant, such as leave out a limit; fields that may be ignored do not change it.
const PROTOCOL: u32 = 3;
/// The one of work that workers of all versions know.
const FIRST_PROTOCOL: u32 = 1;

/// Work as it is stored: what it is, and what a worker has to know to do it.
#[derive(Serialize, Deserialize)]
struct WorkEnvelope<T> {
    /// Work of before there was a number is of the first.
    #[serde(default = "first_protocol")]
    protocol: u32,
    #[serde(flatten)]
    body: T,
}

fn first_protocol() -> u32 {
    FIRST_PROTOCOL
}

impl WorkBody {
    pub(crate) fn encode(self) -> Result<String, Failure> {
        let protocol = match &self {
            Self::TenantCall(_) => 3,
            // Workers before the second would not know that a turn is a tenant's, and would take what was said for a message.
            Self::TenantTurn(_) => 2,
            Self::Turn(turn) if turn.answers_said => 2,
            Self::Turn(_) | Self::Call(_) => FIRST_PROTOCOL,
        };
        let envelope = WorkEnvelope { protocol, body: self };
        serde_json::to_string(&envelope).map_err(|error| Failure::failed("execution_error", error.to_string()))
    }

    pub(crate) fn decode(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(|WorkEnvelope { body, .. }| body)
    }

    /// Whether this version knows all that the work says. What is no work at all is accepted, and refused with its reason.
    pub(crate) fn is_known(text: &str) -> bool {
        #[derive(Deserialize)]
        struct Nothing {}
        serde_json::from_str::<WorkEnvelope<Nothing>>(text).map_or(true, |work| work.protocol <= PROTOCOL)
    }
}

/// What is to be done.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub(crate) enum WorkBody {
    /// A turn of a session.
    Turn(Box<TurnWork>),
    /// One call of a tool, for the user.
    Call(Box<CallWork>),
    /// A turn of a tenant.
    TenantTurn(Box<TenantWork>),
    /// A call of a tool for a user of a tenant.
    TenantCall(Box<TenantWork>),
}

/// Work of a tenant: the process of the tenant does it, and what is to be done lies in the schema of the tenant.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TenantWork {
    pub(crate) tenant: String,
    /// The limits of the tenant, and where it is; not who its users are.
    pub(crate) record: TenantRecord,
    pub(crate) session: String,
    /// Its id in the schema of the tenant.
    pub(crate) id: String,
}

/// A turn of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TurnWork {
    pub(crate) session: String,
    pub(crate) agent: String,
    pub(crate) text: String,
    pub(crate) blocks: Vec<Block>,
    pub(crate) model: Option<String>,
    /// How many messages the session had.
    pub(crate) messages: u64,
    pub(crate) limits: WorkLimits,
    /// Whether it answers what is stored of what the user said to the turn before; the text is what pages show.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) answers_said: bool,
}

/// One call of a tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CallWork {
    pub(crate) call_id: String,
    pub(crate) tool: String,
    pub(crate) agent: String,
    pub(crate) arguments: Value,
    pub(crate) limits: WorkLimits,
    /// The id of the session that it is made in, where servers have to know it; else it gets one where it is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_a_newer_protocol_is_left_to_a_newer_worker() {
        let known = |text: &str| WorkBody::is_known(text);
        assert_eq!(
            [r#"{"work":"turn"}"#, r#"{"protocol":1,"work":"turn"}"#, r#"{"protocol":4,"work":"turn"}"#, "no work"].map(known),
            [true, true, false, true]
        );
        let call = CallWork {
            call_id: "1".to_owned(),
            tool: "exec".to_owned(),
            agent: "main".to_owned(),
            arguments: Value::Null,
            limits: WorkLimits::default(),
            session: None,
        };
        let text = WorkBody::Call(Box::new(call)).encode().unwrap();
        assert!(text.starts_with(r#"{"protocol":1,"work":"call","#) && WorkBody::decode(&text).is_ok(), "{text}");
    }

    #[test]
    fn limits_of_waiting_work_are_replaced_and_the_rest_of_it_stays() {
        let body = r#"{"protocol":9,"work":"tenant_turn","tenant":"acme","record":{"route":"ab","workspace":"/w"},"newer":[1]}"#;
        let mut record = TenantRecord::new("ab".to_owned(), "/w".into());
        record.settings.insert("quota.calls".to_owned(), "3".to_owned());
        let changed: Value = serde_json::from_str(&with_limits(body, &record).unwrap()).unwrap();
        assert_eq!(changed["record"]["settings"]["quota.calls"], "3");
        assert_eq!((&changed["protocol"], &changed["newer"][0], &changed["tenant"]), (&9.into(), &1.into(), &"acme".into()));
        assert_eq!(with_limits(&changed.to_string(), &record), None, "it has them");
        for other in ["no work", r#"{"work":"turn"}"#] {
            assert_eq!(with_limits(other, &record), None);
        }
    }
}
