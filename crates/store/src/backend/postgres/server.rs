//! The server: its address, and connections to it.

use std::time::Duration;

use deadpool_postgres::{ClientWrapper, Hook, HookError, Manager, ManagerConfig, Metrics, Pool, PoolBuilder, RecyclingMethod, Runtime};
use haft_contract::BoxFuture;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, TargetSessionAttrs};

use super::PostgresOptions;
use super::failure::Failure;
use super::link::Link;
use super::tls::Tls;
use crate::{ServerFault, StoreError};

/// How long one attempt to connect may take, unless the address says otherwise.
const CONNECT: Duration = Duration::from_secs(5);
/// A connection over which nothing comes is probed after this time, so that one to a machine that is gone ends.
const PROBE_AFTER: Duration = Duration::from_secs(20);
/// What was sent and is not acknowledged for so long breaks the connection. Without it the system tries for a quarter of an hour, and a
/// process that comes back from a partition would wait for its old connections.
const UNANSWERED: Duration = Duration::from_secs(15);

/// How a server is reached.
pub(super) struct Server {
    config: Config,
    tls: Tls,
    /// Without the password.
    name: String,
    pub(super) patience: Duration,
}

haft_contract::opaque_debug!(Server: name = name);

impl Server {
    /// Of an address such as `postgres://user@host/database`; `postgresql://` is the same.
    pub(super) fn new(address: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        check_escapes(address)?;
        let mut config: Config = address.parse().map_err(|error| {
            // What is wrong with it must not show the password that is in it.
            let said = Failure::from(error).to_store_error("").to_string();
            let problem = said.split_once('(').and_then(|(_, rest)| rest.split_once("):")).map_or("it cannot be read", |(said, _)| said);
            StoreError::WrongAddress(problem.to_owned())
        })?;
        let name = name(&config);
        if config.get_application_name().is_none() {
            config.application_name("haft");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        if config.get_hosts().len() > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
            // Of several hosts, the one that takes changes.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(UNANSWERED);
        }
        config.keepalives_idle(PROBE_AFTER).keepalives_interval(PROBE_AFTER / 4).keepalives_retries(3);
        let tls = Tls::new().map_err(|failure| failure.into_error(&name))?;
        Ok(Self { config, tls, name, patience: options.patience })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The same database for another role.
    pub(super) fn with_role(&self, role: &str, password: &str) -> Self {
        let mut config = self.config.clone();
        if let (None, Some(user)) = (config.get_dbname(), self.config.get_user()) {
            // An address without a database is that of the database with the name of the role.
            config.dbname(user);
        }
        config.user(role).password(password);
        Self { config, tls: self.tls.clone(), name: self.name.clone(), patience: self.patience }
    }

    /// Connections that are made when they are needed.
    pub(super) fn pool(&self, most: usize) -> Result<Pool, StoreError> {
        self.build_pool(self.pool_builder(most))
    }

    /// The connection that writes.
    pub(super) fn writing_pool(&self) -> Result<Pool, StoreError> {
        self.build_pool(self.pool_builder(1).post_create(Hook::async_fn(use_generic_plans)))
    }

    fn pool_builder(&self, most: usize) -> PoolBuilder {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(self.config.clone(), self.tls.clone(), recycling);
        Pool::builder(manager).max_size(most).runtime(Runtime::Tokio1).wait_timeout(Some(self.patience))
    }

    fn build_pool(&self, builder: PoolBuilder) -> Result<Pool, StoreError> {
        builder.build().map_err(|error| Failure::Fault(ServerFault::Other, error.to_string()).to_store_error(&self.name))
    }

    /// A connection of its own, which ends with its task.
    pub(super) async fn connect(&self) -> Result<Link, Failure> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        let task = tokio::spawn(async move {
            // The caller of the client gets the error.
            connection.await.ok();
        });
        Ok(Link::new(client, task))
    }
}

/// The host begins after the first `@`. One more, or one after the options have begun, is of a password, whose end would be taken for the
/// host, and be shown as such.
fn check_escapes(address: &str) -> Result<(), StoreError> {
    let after_scheme = address.split_once("://").map_or(address, |(_, rest)| rest);
    let Some((login, rest)) = after_scheme.split_once('@') else { return Ok(()) };
    if login.contains('?') || rest.contains('@') {
        return Err(StoreError::WrongAddress("an '@' of the password is written as %40, and a '?' as %3F".to_owned()));
    }
    Ok(())
}

/// Statements that write take whole columns, and the server would plan each of them anew, which takes as long as writing a row: it does not
/// know that a plan for one number of rows is as good for another.
fn use_generic_plans<'a>(client: &'a mut ClientWrapper, _: &'a Metrics) -> BoxFuture<'a, Result<(), HookError>> {
    Box::pin(async move { client.batch_execute("SET plan_cache_mode = force_generic_plan").await.map_err(HookError::Backend) })
}

/// Host and database, for people.
fn name(config: &Config) -> String {
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate().map(|(at, host)| {
        let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(host) => format!("{host}:{port}"),
            Host::Unix(folder) => folder.display().to_string(),
        }
    });
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgres://{}/{database}", hosts.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_password_is_taken_for_the_host() {
        let opened = |address: &str| Server::new(address, &PostgresOptions::default()).map(|server| server.name);
        for address in ["postgres://me:hun@ter2@db/haft", "postgres://me:hun?ter2@db/haft", "postgres://db/haft?user=me&password=hun@ter2"]
        {
            let said = opened(address).unwrap_err().to_string();
            assert!(said.contains("%40") && !said.contains("hun") && !said.contains("ter2"), "{said}");
        }
        for address in ["postgres://me:hun%40ter2@db/haft", "postgres://me:hun/ter2@db/haft", "postgres://db/haft?password=hun%40ter2"] {
            assert_eq!(opened(address).unwrap(), "postgres://db:5432/haft", "{address}");
        }
    }
}
