//! The paired machines of a server, which other programs of this user reach through it.

use haft_nodes::{ControlServer, NodeHub};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::output::{note, warn};
use crate::wire::Wire;

/// The paired machines of this server, and the socket by which other programs of this user reach them.
#[derive(Default)]
pub(super) struct ServedNodes {
    pub(super) hub: Option<NodeHub>,
    control: Option<ControlServer>,
}

impl ServedNodes {
    /// Answers other programs of this user until the server stops.
    pub(super) fn serve(self, stop: &CancellationToken) -> Option<JoinHandle<()>> {
        let (control, stop) = (self.control?, stop.clone());
        Some(tokio::spawn(async move { control.serve(&stop).await }))
    }

    /// Without them the server works as well, and says why.
    pub(super) async fn open(wire: &Wire, stop: &CancellationToken) -> Self {
        if crate::tenants::current().is_some() {
            return Self::default();
        }
        let opened = async {
            std::fs::create_dir_all(wire.run_folder())?;
            let hub = wire.node_hub(stop.clone())?;
            let control = ControlServer::bind(&wire.nodes_socket(), hub.clone()).await?;
            Ok::<_, std::io::Error>((hub, control))
        };
        match opened.await {
            Ok((hub, Some(control))) => Self { hub: Some(hub), control: Some(control) },
            Ok((_, None)) => {
                note("Another server of yours has the nodes; this one uses them through it.");
                Self::default()
            }
            Err(error) => {
                warn(&format!("this server has no nodes: {error}"));
                Self::default()
            }
        }
    }
}
