//! `haft serve`: the page and the API, which `haft-gateway` holds. Here is what it needs of this program.

mod agents;
mod automation;
mod backend;
mod changes;
mod delivery;
mod machine;
mod restart;
mod settings;
mod tools;
mod undo;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_gateway::{Gateway, GatewayError, GatewayOptions, PageApprovals, TlsFiles};
use haft_store::CallLog;
use ring::digest::{SHA256, digest};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use self::automation::ServedJobs;
use self::backend::ServeBackend;
use crate::arguments::{Common, ServeArgs};
use crate::commands::block_on;
use crate::commands::interrupt::interruptible;
use crate::failure::{Exit, Failure};
use crate::output::{Output, note};
use crate::wire::{self, ServedParts, ServerControl, Wire};

/// Where programs of this user find a running server, in the folder for sockets.
pub(super) const SERVER_FILE: &str = "gateway.json";

/// How long runs of jobs may take to be stored when the server stops.
const JOB_GRACE: Duration = Duration::from_secs(5);

pub(crate) fn run(common: &Common, request: &ServeArgs, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    raise_file_limit();
    let ended = block_on(async {
        let store = wire::store(&wire.settings.data_folder)?;
        wire.repair_interrupted(&(Arc::clone(&store) as Arc<dyn CallLog>)).await;
        let approvals = PageApprovals::new(wire.settings.workspace.clone(), wire.own_file().ok());
        let control = Arc::new(ServerControl::default());
        let served = ServedParts { approvals: approvals.clone(), store, control: Arc::clone(&control) };
        let file = wire.run_folder().join(SERVER_FILE);
        let options = options(request, &wire);
        let (run_folder, workspace) = (wire.run_folder(), wire.settings.workspace.clone());
        let backend = Arc::new(ServeBackend::new(common, output, wire, served));
        let gateway = Gateway::bind(Arc::clone(&backend) as _, approvals, options).await.map_err(|error| failure(&error))?;
        let (url, link) = (gateway.url().to_owned(), gateway.link().to_owned());
        output.show(|| json!({ "url": url, "link": link }), || format!("{link}\n"))?;
        note("The link works once, in one browser; the page makes more. Ctrl-C ends the server.");
        gateway.notice().into_iter().for_each(note);
        let _known = KnownServer::announce(file, &url, gateway.program_token())?;
        let stop = CancellationToken::new();
        let (sessions, address) = (gateway.sessions(), gateway.address());
        let (reloading, told) = (Arc::clone(&backend), sessions.clone());
        let reload = move || {
            reloading.reload();
            told.use_new_settings();
        };
        control.offer(&sessions, &url, Arc::new(reload));
        let jobs = ServedJobs::start(&*backend.wire_of(None)?, &backend.served, &sessions, &stop)?;
        if jobs.is_none() {
            note("another server runs the scheduled jobs of this folder");
        }
        restart::take_over(&sessions, &run_folder, &workspace);
        let restarting = tokio::spawn({
            let stop = stop.clone();
            let control = Arc::clone(&control);
            async move { restart::wait(&control, &sessions, &run_folder, &workspace, &stop).await }
        });
        // To be stopped is how a server ends: no failure.
        let (served, _) = Box::pin(interruptible(gateway.serve(&stop), &stop)).await?;
        restarting.abort();
        if let Some(jobs) = jobs {
            // Runs whose turn has ended are stored; the others are continued by the next server.
            tokio::time::timeout(JOB_GRACE, jobs.scheduler.drained()).await.ok();
        }
        served.map_err(|error| failure(&error))?;
        Ok(control.restart_request().map(|_| address))
    })?;
    match ended {
        Some(address) => Err(restart::exec(address)),
        None => Ok(Exit::Success),
    }
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

/// The file in which programs of this user find the server; removed when it ends.
struct KnownServer(PathBuf);

impl KnownServer {
    fn announce(file: PathBuf, url: &str, token: &str) -> Result<Self, Failure> {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let failed = |error: std::io::Error| Failure::failed("execution_error", format!("{} cannot be written: {error}", file.display()));
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        // A file that is there could be readable by others, or a link.
        std::fs::remove_file(&file).ok();
        let mut options = std::fs::File::options();
        let mut opened = options.write(true).create_new(true).mode(0o600).open(&file).map_err(failed)?;
        opened.write_all(json!({ "url": url, "token": token }).to_string().as_bytes()).map_err(failed)?;
        Ok(Self(file))
    }
}

impl Drop for KnownServer {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}
