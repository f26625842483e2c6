//! The queue: ids of work by topic, each once, on a stream of JetStream that keeps them until they are acknowledged.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::stream::{self, RetentionPolicy, StorageType, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions, HeaderMap, ServerAddr};
use serde::{Deserialize, Serialize};

use crate::FleetError;

/// The streams and subjects.
const WORK_STREAM: &str = "HAFT_WORK";
const WORK: &str = "haft.work";
const EVENT_STREAM: &str = "HAFT_EVENTS";
pub(crate) const EVENTS: &str = "haft.events";
/// The same id within this time is one message. Later the database knows it.
const DUPLICATES: Duration = Duration::from_mins(2);
/// Work waits for a worker no longer than this, whatever its own patience is.
const LONGEST_WAIT: Duration = Duration::from_hours(24);
/// How long events can be read again.
const EVENTS_KEPT: Duration = Duration::from_hours(1);
/// So many servers have a majority when one is lost.
const CLUSTER: usize = 3;
const MOST_EVENT_BYTES: i64 = 256 << 20;
/// How long the queue is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// A connection to the queue, which comes back by itself.
#[derive(Clone)]
pub struct FleetQueue {
    pub(crate) client: Client,
    pub(crate) context: Context,
    name: String,
    /// How many servers keep each message.
    replicas: usize,
}

haft_contract::opaque_debug!(FleetQueue: name = name);

/// What a message says. The work itself is in the database: a message is small, and what it says is never newer than what is there.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WorkMessage {
    pub(crate) id: String,
}

/// The topic of a call of a tool, which only workers with this label take; without one any worker does.
pub fn topic_of_call(tool: &str, label: Option<&str>) -> String {
    format!("call.{}.{}", part(label.unwrap_or("any")), part(tool))
}

/// The topic of a turn of an agent.
pub fn topic_of_turn(agent: &str, label: Option<&str>) -> String {
    format!("turn.{}.{}", part(label.unwrap_or("any")), part(agent))
}

/// The subject of the events of a session; `>` is that of all.
pub fn subject_of_session(session: &str) -> String {
    if session == ">" { "turn.>".to_owned() } else { format!("turn.{}", part(session)) }
}

/// The subject of the events of a session of a tenant, which no other tenant's is; `>` is that of all of the tenant.
pub fn subject_of_tenant(route: &str, session: &str) -> String {
    let session = if session == ">" { ">".to_owned() } else { part(session) };
    format!("tenant.{}.{session}", part(route))
}

/// A part of a subject: nothing in it is a separator or a wildcard, and no two names have the same.
pub(crate) fn part(name: &str) -> String {
    let is_plain = |ch: char| ch.is_ascii_alphanumeric() || ch == '_' || ch == '-';
    let escape = |ch: char| if is_plain(ch) { ch.to_string() } else { format!("~{:x}~", u32::from(ch)) };
    name.chars().map(escape).collect()
}

/// A name may have no dot. Parts of topics have no `=`, so no two topics have the same consumer.
fn consumer_name(topic: &str) -> String {
    topic.replace('.', "=")
}

impl FleetQueue {
    /// Connects to an address such as `nats://host:4222`, several separated by commas, and makes the streams if there are none. Three
    /// servers or more are a cluster, of which three keep each message.
    pub async fn connect(address: &str) -> Result<Self, FleetError> {
        let servers = addresses(address)?;
        let name = servers.iter().map(|server| format!("{}:{}", server.host(), server.port())).collect::<Vec<_>>().join(",");
        let replicas = if servers.len() >= CLUSTER { CLUSTER } else { 1 };
        let failed = |said: String| FleetError::Queue { queue: format!("nats://{name}"), said };
        let options = ConnectOptions::new().name("haft").connection_timeout(PATIENCE).request_timeout(Some(PATIENCE));
        let client = with_login(options, &servers).connect(servers).await.map_err(|error| failed(error.to_string()))?;
        let mut context = jetstream::new(client.clone());
        context.set_timeout(PATIENCE);
        let queue = Self { client, context, name: format!("nats://{name}"), replicas };
        queue.stream(work_stream()).await?;
        queue.stream(event_stream()).await?;
        Ok(queue)
    }

    /// A stream; one that the queue has lost is made again.
    pub(crate) async fn stream(&self, config: stream::Config) -> Result<Stream, FleetError> {
        let config = stream::Config { num_replicas: self.replicas, ..config };
        self.context.get_or_create_stream(config).await.map_err(|error| self.failed(error))
    }

    /// Which servers, without the password.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn failed(&self, error: impl std::fmt::Display) -> FleetError {
        FleetError::Queue { queue: self.name.clone(), said: error.to_string() }
    }

    /// Puts the id of work on the queue; resolves when the queue has stored it. The same id is one message; `attempt` makes it another,
    /// for when the first may be lost.
    pub async fn push(&self, topic: &str, id: &str, attempt: u32) -> Result<(), FleetError> {
        let body = serde_json::to_vec(&WorkMessage { id: id.to_owned() }).map_err(|error| self.failed(error))?;
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", if attempt == 0 { id.to_owned() } else { format!("{id}.{attempt}") });
        let sent = async {
            let sent = self.context.publish_with_headers(format!("{WORK}.{topic}"), headers, body.into()).await;
            sent.map_err(|error| self.failed(error))?.await.map(drop).map_err(|error| self.failed(error))
        };
        let sent = sent.await;
        if sent.is_err() {
            // Perhaps the queue came back without its streams: the next attempt finds them.
            self.stream(work_stream()).await?;
        }
        sent
    }

    /// Puts a message on the queue as it is. It exists for tests of what is no message of ours.
    pub async fn push_raw(&self, topic: &str, body: Vec<u8>) -> Result<(), FleetError> {
        let sent = self.context.publish(format!("{WORK}.{topic}"), body.into()).await.map_err(|error| self.failed(error))?;
        sent.await.map(drop).map_err(|error| self.failed(error))
    }

    /// Who takes the messages of a topic. All workers of it share one.
    pub(crate) async fn consumer(&self, topic: &str, lease: Duration) -> Result<PullConsumer, FleetError> {
        let stream = self.stream(work_stream()).await?;
        let name = consumer_name(topic);
        let config = pull::Config {
            durable_name: Some(name.clone()),
            filter_subject: format!("{WORK}.{topic}"),
            ack_policy: AckPolicy::Explicit,
            // A worker that lives says so more often.
            ack_wait: lease,
            max_ack_pending: 10_000,
            ..pull::Config::default()
        };
        stream.get_or_create_consumer(&name, config).await.map_err(|error| self.failed(error))
    }

    /// How many messages wait, and how many are with a worker, by topic.
    pub async fn waiting(&self, topics: &[String]) -> Result<Vec<(String, u64, usize)>, FleetError> {
        let stream = self.stream(work_stream()).await?;
        let mut found = Vec::new();
        for topic in topics {
            if let Ok(info) = stream.consumer_info(consumer_name(topic)).await {
                found.push((topic.clone(), info.num_pending, info.num_ack_pending));
            }
        }
        Ok(found)
    }
}

fn addresses(address: &str) -> Result<Vec<ServerAddr>, FleetError> {
    let parts = address.split(',').map(str::trim).filter(|part| !part.is_empty());
    // What is wrong must not show the password.
    let parse = |part: &str| match part.split_once("://") {
        Some((_, rest)) if has_late_login(rest) => {
            Err(FleetError::Address("a '/' of the password is written as %2F, a '?' as %3F and a '#' as %23".to_owned()))
        }
        Some(("nats" | "tls", _)) => part.parse().map_err(|_| FleetError::Address("it cannot be read".to_owned())),
        Some((scheme, _)) => Err(FleetError::Address(format!("{scheme} is no kind of queue that haft knows"))),
        None => Err(FleetError::Address("it has no scheme".to_owned())),
    };
    let servers = parts.map(parse).collect::<Result<Vec<_>, _>>()?;
    if servers.is_empty() { Err(FleetError::Address("it is empty".to_owned())) } else { Ok(servers) }
}

/// Whether there is an `@` after the host has ended: then the beginning of a password would be taken for the host.
fn has_late_login(rest: &str) -> bool {
    rest.find(['/', '?', '#']).is_some_and(|end| rest[end..].contains('@'))
}

/// With the user and the password of the first address that has some; a name without a password is a token. The client itself uses none.
fn with_login(options: ConnectOptions, servers: &[ServerAddr]) -> ConnectOptions {
    let decode = haft_text::percent::decode;
    let login = servers.iter().find_map(|server| Some((decode(server.username()?), server.password().map(decode))));
    match login {
        Some((user, Some(password))) => options.user_and_password(user, password),
        Some((token, None)) => options.token(token),
        None => options,
    }
}

fn work_stream() -> stream::Config {
    stream::Config {
        name: WORK_STREAM.to_owned(),
        subjects: vec![format!("{WORK}.>")],
        retention: RetentionPolicy::WorkQueue,
        storage: StorageType::File,
        duplicate_window: DUPLICATES,
        max_age: LONGEST_WAIT,
        ..stream::Config::default()
    }
}

pub(crate) fn event_stream() -> stream::Config {
    stream::Config {
        name: EVENT_STREAM.to_owned(),
        subjects: vec![format!("{EVENTS}.>")],
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        max_age: EVENTS_KEPT,
        max_bytes: MOST_EVENT_BYTES,
        ..stream::Config::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_have_no_wildcards_and_addresses_show_no_password() {
        assert_eq!(topic_of_call("web_fetch", None), "call.any.web_fetch");
        assert_eq!(topic_of_turn("ma in", Some("gpu")), "turn.gpu.ma~20~in");
        assert_eq!(topic_of_call("mcp.>* x", Some("g.pu")), "call.g~2e~pu.mcp~2e~~3e~~2a~~20~x");
        assert_eq!([subject_of_tenant("ab", ">"), subject_of_tenant("ab", "s.>")], ["tenant.ab.>", "tenant.ab.s~2e~~3e~"]);
        assert_ne!(topic_of_turn("a.b", None), topic_of_turn("a_b", None));
        assert_ne!(consumer_name(&topic_of_turn("b", Some("gpu-a"))), consumer_name(&topic_of_turn("a-b", Some("gpu"))));
        for (address, why) in [
            ("redis://user:hunter2@host", "redis is no kind of queue"),
            ("hunter2", "it has no scheme"),
            ("", "it is empty"),
            ("nats://user:hunter2@host:port", "it cannot be read"),
            ("nats://hunter2/x@host", "a '/' of the password is written as %2F"),
            ("nats://a, nats://user:hunter2#x@host", "a '/' of the password"),
        ] {
            let said = addresses(address).unwrap_err().to_string();
            assert!(said.contains(why) && said.contains("write nats://host:4222") && !said.contains("hunter2"), "{said}");
        }
        assert_eq!(addresses("nats://a:1, tls://b").unwrap().len(), 2);
    }
}
