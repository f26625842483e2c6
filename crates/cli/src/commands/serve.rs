//! `haft serve`: the page and the API, which `haft-gateway` holds. Here is what it needs of this program.

mod agents;
mod automation;
mod backend;
mod changes;
mod config_files;
mod delivery;
mod known_server;
mod machine;
mod memory;
mod nodes;
mod process_memory;
mod providers;
mod restart;
mod saved_edits;
mod servers;
mod settings;
mod spills;
mod tenant;
mod tenants;
mod tools;
mod trust;
mod undo;
#[cfg(feature = "postgres")]
mod workers;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use haft_gateway::{Gateway, GatewayError, GatewayOptions, PageApprovals, PageBrowsers, PageCanvas, ServedSessions, TlsFiles};
use haft_store::{CallLog, StateStore};
use ring::digest::{SHA256, digest};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::automation::ServedJobs;
use self::backend::ServeBackend;
use self::known_server::KnownServer;
use self::nodes::ServedNodes;
use self::tenant::OwnSeat;
#[cfg(feature = "postgres")]
pub(super) use self::tenant::check_settings as check_tenant_settings;
use self::tenants::TenantProcesses;
use crate::arguments::{Common, ServeArgs};
use crate::commands::block_on;
use crate::commands::interrupt::interruptible;
use crate::failure::{Exit, Failure};
use crate::output::{Output, note};
use crate::wire::{self, ServedChannels, ServedParts, ServerControl, ServerFleet, Wire};

/// Where programs of this user find a running server, in the folder for sockets.
pub(super) const SERVER_FILE: &str = "gateway.json";

/// How long runs of jobs may take to be stored when the server stops.
const JOB_GRACE: Duration = Duration::from_secs(5);

pub(crate) fn run(common: &Common, request: &ServeArgs, output: &Output) -> Result<Exit, Failure> {
    check_metrics(request)?;
    let wire = Wire::new(common, output)?;
    raise_file_limit();
    match block_on(serve(common, request, output, wire))? {
        // The server in front of a tenant's starts it again with the next request.
        Some(address) if crate::tenants::current().is_none() => Err(restart::exec(address)),
        _ => Ok(Exit::Success),
    }
}

/// The metrics are those of the queue.
fn check_metrics(request: &ServeArgs) -> Result<(), Failure> {
    let has_queue = cfg!(feature = "postgres") && std::env::var_os("HAFT_QUEUE").is_some_and(|address| !address.is_empty());
    if request.metrics.is_none() || has_queue {
        return Ok(());
    }
    let message = "--metrics shows the work of a queue, and there is none".to_owned();
    Err(Failure::usage(message).help("set HAFT_STORE and HAFT_QUEUE, with a build that has the feature postgres (docs/FLEET.md)"))
}

/// Serves until it is stopped; returns its address if it is to start again.
async fn serve(common: &Common, request: &ServeArgs, output: &Output, wire: Wire) -> Result<Option<Option<SocketAddr>>, Failure> {
    let store = wire::store(&wire.settings.data_folder)?;
    wire.repair_interrupted(&(Arc::clone(&store) as Arc<dyn CallLog>)).await;
    let approvals = PageApprovals::new(wire.settings.workspace.clone(), wire.own_file().ok());
    let stop = CancellationToken::new();
    #[cfg_attr(not(feature = "postgres"), expect(unused_mut, reason = "workers take the words for it"))]
    let mut seat =
        crate::tenants::current().map(|tenant| tenant::check_settings(&wire).and_then(|()| OwnSeat::take(tenant, &stop))).transpose()?;
    let (nodes, channels, control) = (ServedNodes::open(&wire, &stop).await, ServedChannels::default(), Arc::new(ServerControl::default()));
    let (canvas, browsers) = (PageCanvas::new(&approvals), PageBrowsers::default());
    let served = ServedParts {
        approvals: approvals.clone(),
        store: Arc::clone(&store),
        nodes: nodes.hub.clone(),
        channels: channels.clone(),
        canvas: Arc::new(canvas.clone()),
        browsers: Arc::new(browsers.clone()),
        labels: Arc::default(),
        control: Arc::clone(&control),
    };
    let (run_folder, workspace) = (wire.run_folder(), wire.settings.workspace.clone());
    let mut options = options(request, &wire);
    options.nodes.clone_from(&nodes.hub);
    (options.canvas, options.browsers) = (Some(canvas), browsers);
    let backend = Arc::new(ServeBackend::new(common, output, wire, served));
    #[cfg(feature = "postgres")]
    let (fleet, words) = match &mut seat {
        // A tenant has no queue: its turns go through the server in front.
        Some(seat) => (None, tenant::turns::use_workers(&backend, seat)),
        None => (backend.use_workers().await?, None),
    };
    options.tenant = seat.as_ref().map(|seat| seat.seat.clone());
    let mut gateway = Gateway::bind(Arc::clone(&backend) as _, approvals.clone(), options).await.map_err(|error| failure(&error))?;
    let url = gateway.url().to_owned();
    #[cfg(feature = "postgres")]
    let workers = fleet.clone();
    #[cfg(not(feature = "postgres"))]
    let workers = None;
    let tenants = if seat.is_none() { serve_tenants(common, request, &mut gateway, (Arc::clone(&store), workers))? } else { None };
    show_link(&gateway, output)?;
    let _known = KnownServer::announce(run_folder.join(SERVER_FILE), &url, gateway.program_token())?;
    let (sessions, address, wire) = (gateway.sessions(), gateway.address(), backend.wire_of(None)?);
    #[cfg(feature = "postgres")]
    if let Some(link) = fleet {
        workers::begin(link, request.metrics, &sessions, &stop).await?;
    }
    #[cfg(feature = "postgres")]
    if let Some(words) = words {
        tenant::turns::follow(words, &sessions, &stop);
    }
    let nodes = nodes.serve(&stop);
    channels.start(&wire, &store, &approvals, sessions.clone(), stop.child_token());
    control.offer(&sessions, &url, reload(&backend, &sessions));
    let jobs = ServedJobs::start(&wire, &backend.served, &sessions, &stop)?;
    if let Some(seat) = &seat {
        seat.follow(&gateway, sessions.clone(), &wire, Arc::clone(&store), stop.clone());
    }
    restart::take_over(&sessions, &run_folder, &workspace);
    let restarting = tokio::spawn({
        let (stop, control) = (stop.clone(), Arc::clone(&control));
        async move { restart::wait(&control, &sessions, &run_folder, &workspace, &stop).await }
    });
    // To be stopped is how a server ends: no failure.
    let (served, _) = Box::pin(interruptible(gateway.serve(&stop), &stop)).await?;
    restarting.abort();
    stop.cancel();
    end_parts(tenants, nodes, &jobs).await;
    served.map_err(|error| failure(&error))?;
    Ok(control.restart_request().map(|_| address))
}

/// Waits for what the server started beside the page.
async fn end_parts(tenants: Option<Arc<TenantProcesses>>, nodes: Option<JoinHandle<()>>, jobs: &ServedJobs) {
    if let Some(tenants) = tenants {
        tenants.end().await;
    }
    if let Some(nodes) = nodes {
        nodes.await.ok();
    }
    // Runs whose turn has ended are stored; the others are continued by the next server.
    tokio::time::timeout(JOB_GRACE, jobs.scheduler.drained()).await.ok();
}

/// Hands requests of tenants to their processes.
fn serve_tenants(
    common: &Common,
    request: &ServeArgs,
    gateway: &mut Gateway,
    shared: (Arc<StateStore>, Option<ServerFleet>),
) -> Result<Option<Arc<TenantProcesses>>, Failure> {
    let tenants = TenantProcesses::open(common, gateway.public_address(), Duration::from_secs(request.tenant_idle), shared)?;
    if let Some(tenants) = &tenants {
        gateway.serve_tenants(Arc::clone(tenants) as _);
        tokio::spawn(Arc::clone(tenants).follow_removals());
    }
    Ok(tenants)
}

fn show_link(gateway: &Gateway, output: &Output) -> Result<Exit, Failure> {
    if crate::tenants::current().is_some() {
        // For the server in front alone; the users have links of their own.
        return output.show(|| json!({ "ready": true }), || "ready\n".to_owned());
    }
    let (url, link) = (gateway.url(), gateway.link());
    let shown = output.show(|| json!({ "url": url, "link": link }), || format!("{link}\n"))?;
    note("The link works once, in one browser; the page makes more. Ctrl-C ends the server.");
    gateway.notice().into_iter().for_each(note);
    Ok(shown)
}

/// What takes the settings as they are in their files now.
fn reload(backend: &Arc<ServeBackend>, sessions: &ServedSessions) -> Arc<dyn Fn() + Send + Sync> {
    let (backend, sessions) = (Arc::clone(backend), sessions.clone());
    Arc::new(move || {
        backend.reload();
        sessions.use_new_settings();
    })
}

fn options(request: &ServeArgs, wire: &Wire) -> GatewayOptions {
    let mut options = GatewayOptions::new(request.listen);
    options.host_names.clone_from(&request.host_names);
    let files = request.tls_certificate.clone().zip(request.tls_key.clone());
    options.tls = files.map(|(certificate, key)| TlsFiles::new(certificate, key));
    // A token is for one workspace: it must not open another one that is served from the same port.
    let workspace = digest(&SHA256, wire.settings.workspace.as_os_str().as_encoded_bytes());
    let name = format!("tokens-{}.json", &haft_text::hex::encode(workspace)[..16]);
    options.token_file = Some(wire.settings.data_folder.join("gateway").join(name));
    options
}

fn failure(error: &GatewayError) -> Failure {
    match error {
        GatewayError::NotLoopback(_) => Failure::usage(error.to_string()).help(
            "listen on 127.0.0.1 or [::1] and use a tunnel such as `ssh -L`, or give a certificate with --tls-certificate and --tls-key",
        ),
        GatewayError::Nameless(_) => {
            Failure::usage(error.to_string()).help("give the name of this machine with --host-name, or listen on one of its addresses")
        }
        GatewayError::Certificate(_) => Failure::usage(error.to_string())
            .help("--tls-certificate is a file in PEM with the certificate first, --tls-key one with its key"),
        GatewayError::Address(..) => {
            Failure::failed("execution_error", error.to_string()).help("choose another port with --listen, or 0 for any that is free")
        }
        _ => Failure::failed("execution_error", error.to_string()),
    }
}

/// Each page holds a connection, and the usual limit is low.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Without it fewer pages can connect at once.
    setrlimit(Resource::Nofile, limit).ok();
}
