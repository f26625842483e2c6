//! The channels of the configuration: their settings, their store, and the tool `message` that knows them.

mod caller;
mod chat;
mod serving;

use std::sync::Arc;

use haft_channels::{ChannelPorts, ChannelReport, ChannelSecret, ChannelService, ChannelSettings, StoreOpener};
use haft_config::{ConfigValue, Provenance};
use haft_contract::ToolSource;
use haft_contract::ports::{ChannelKind, MessageChannels, Notifier};
use haft_host::{LocalFiles, LocalNotifier};
use haft_jobs::LocalProcesses;
use haft_store::ChannelStore;

pub(crate) use self::caller::ChannelCaller;
use self::chat::StoredChat;
pub(crate) use self::serving::ServedChannels;
use super::Wire;
use super::shell::Calls;
use crate::failure::Failure;

/// Names that mean something else in rules.
const RESERVED: [&str; 2] = ["channel", "to"];

impl Wire {
    /// The channels, as configured.
    pub(crate) fn channels(&self) -> &Arc<ChannelService> {
        self.channels.get_or_init(|| {
            // The operator's channels speak for the operator.
            let is_tenant = crate::tenants::current().is_some();
            let settings =
                if is_tenant { Vec::new() } else { channel_settings(&self.settings.provenance, &|name| std::env::var(name).ok()) };
            Arc::new(ChannelService::new(settings, &self.channel_ports(), self.channel_store()))
        })
    }

    /// Whether the configuration has any.
    pub(super) fn has_channels(&self) -> bool {
        crate::tenants::current().is_none() && !self.settings.provenance.names_beneath(&["channels"]).is_empty()
    }

    /// Gives the tool `message` the parameters that the channels can use.
    pub(super) fn register_channels(&self) -> Result<(), Failure> {
        if !self.has_channels() {
            return Ok(());
        }
        let reports = self.channels().reports();
        let lack = |report: &ChannelReport| match &report.fault {
            Some(fault) => Some(format!("{}: {fault}", report.name)),
            None if report.actions.is_empty() => Some(format!("{}: it only receives", report.name)),
            None => None,
        };
        let faults: Vec<String> = reports.iter().filter_map(lack).collect();
        let fault = (!faults.is_empty()).then(|| faults.join("; "));
        let tool = haft_builtin::message_for(self.channels().offers(), fault);
        self.registry.replace(tool, ToolSource::BuiltIn).map(drop).map_err(|error| Failure::failed("execution_error", error.to_string()))
    }

    fn channel_ports(&self) -> ChannelPorts {
        let has_desktop =
            self.settings.provenance.names_beneath(&["channels"]).iter().any(|name| {
                self.settings.provenance.value_at(&["channels", name, "kind"]).as_text() == Some(ChannelKind::Desktop.as_str())
            });
        let notifier = if has_desktop { self.channel_notifier() } else { None };
        ChannelPorts { notifier, chat: Some(Arc::new(StoredChat::new(self))) }
    }

    /// Runs no program that tools could have written.
    fn channel_notifier(&self) -> Option<Arc<dyn Notifier>> {
        let workspace = self.workspace_options(&[&self.settings.agent], &self.settings.workspace, None, Calls::OfUser).ok()?;
        let files = Arc::new(LocalFiles::open(workspace).ok()?);
        let alert_log = self.settings.data_folder.join("alerts.log");
        Some(Arc::new(LocalNotifier::new(alert_log, Arc::new(LocalProcesses::default())).avoiding(files)))
    }

    /// The store of the server, or one that is opened at the first message.
    fn channel_store(&self) -> StoreOpener {
        if let Some(served) = &self.served {
            let store: Arc<dyn ChannelStore> = served.store.channels();
            return Box::new(move || Ok(Arc::clone(&store)));
        }
        let folder = self.settings.data_folder.clone();
        Box::new(move || {
            let opened = super::open_store(&folder).map_err(|error| error.to_string())?;
            Ok(opened.store.channels())
        })
    }
}

/// Every channel that is switched on. Tables without a kind only have lists of tools.
fn channel_settings(provenance: &Provenance, variable: &dyn Fn(&str) -> Option<String>) -> Vec<ChannelSettings> {
    let names = provenance.names_beneath(&["channels"]);
    let usable = names.iter().filter(|name| !name.contains(':') && !RESERVED.contains(&name.as_str()));
    usable.filter_map(|name| settings_of(provenance, name, variable)).collect()
}

fn settings_of(provenance: &Provenance, name: &str, variable: &dyn Fn(&str) -> Option<String>) -> Option<ChannelSettings> {
    let value = |key: &str| provenance.value_at(&["channels", name, key]);
    let text = |key: &str| value(key).as_text().map(str::to_owned);
    let list = |key: &str| value(key).entries().iter().map(|entry| entry.value.clone()).collect::<Vec<_>>();
    let kind: ChannelKind = value("kind").as_text()?.parse().ok()?;
    if *value("enabled") == ConfigValue::Flag(false) {
        return None;
    }
    // Only the name of a variable is in the file, never the secret.
    let secret = |name: &str| {
        let found = variable(name).map(|secret| secret.trim().to_owned()).filter(|secret| !secret.is_empty());
        found.map(ChannelSecret::new).ok_or_else(|| format!("the variable {name} is not set"))
    };
    let mut settings = ChannelSettings::new(name, kind);
    settings.token = text("token_env").map_or_else(|| Err("token_env is not set".to_owned()), |name| secret(&name));
    settings.secret = text("secret_env").map(|name| secret(&name));
    settings.app_token = text("app_token_env").map(|name| secret(&name));
    (settings.base_url, settings.imap_url) = (text("base_url"), text("imap_url"));
    (settings.user, settings.from, settings.trusted_server) = (text("user"), text("from"), text("trusted_server"));
    (settings.to, settings.agent, settings.public_key) = (text("to"), text("agent"), text("public_key"));
    (settings.allow_from, settings.owners, settings.conversations) = (list("allow_from"), list("owners"), list("conversations"));
    settings.receives = *value("receive") == ConfigValue::Flag(true);
    Some(settings)
}
