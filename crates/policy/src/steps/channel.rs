//! What holds for a channel, one group of it, and one sender in it.

use std::collections::HashMap;

use crate::catalog::Vocabulary;
use crate::list::Groups;
use crate::name::folded;
use crate::steps::Lists;
use crate::{Caller, Candidate, ChannelSpec, Decision, Sender};

const STEP: &str = "group";
const ANYONE: &str = "*";

#[derive(Debug, Clone)]
struct Channel {
    lists: Lists,
    senders: HashMap<String, Lists>,
}

/// The channels that have lists of their own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Channels {
    by_name: HashMap<String, Channel>,
}

impl Channels {
    pub(crate) fn compile(channels: &[(String, ChannelSpec)], groups: &Groups, vocabulary: &Vocabulary) -> Self {
        let channel = |(name, spec): &(String, ChannelSpec)| {
            let key = format!("channels.\"{name}\"");
            let lists = Lists::compile(format!("{key}.tools"), &spec.tools, groups, vocabulary);
            let sender = |(sender, lists): &(String, _)| {
                (sender_key(sender), Lists::compile(format!("{key}.senders.\"{sender}\""), lists, groups, vocabulary))
            };
            (folded(name), Channel { lists, senders: spec.senders.iter().map(sender).collect() })
        };
        Self { by_name: channels.iter().map(channel).collect() }
    }

    pub(crate) fn apply(&self, decision: &mut Decision, tool: &Candidate<'_>, caller: &Caller) {
        let Some(channel) = self.find(caller) else { return };
        let own = channel.senders_lists(caller.sender.as_ref());
        own.unwrap_or(&channel.lists).apply(decision, STEP, tool);
    }

    /// One group of a channel before the channel, and that before all channels.
    fn find(&self, caller: &Caller) -> Option<&Channel> {
        let name = folded(caller.channel.as_deref()?);
        let general = name.split_once(':').map(|(channel, _)| channel);
        self.by_name.get(&name).or_else(|| self.by_name.get(general?)).or_else(|| self.by_name.get(ANYONE))
    }
}

impl Channel {
    /// By id, then number, then user name, then shown name: what is hardest to forge counts first.
    fn senders_lists(&self, sender: Option<&Sender>) -> Option<&Lists> {
        let sender = sender.cloned().unwrap_or_default();
        let keys = [("id", sender.id), ("e164", sender.e164), ("username", sender.username), ("name", sender.name)];
        let named = keys.into_iter().find_map(|(kind, value)| self.senders.get(&format!("{kind}:{}", value?.to_lowercase())));
        named.or_else(|| self.senders.get(ANYONE))
    }
}

/// A sender without a kind is an id.
fn sender_key(written: &str) -> String {
    let written = written.trim().to_lowercase();
    let has_kind = ["id:", "e164:", "username:", "name:"].iter().any(|kind| written.starts_with(kind));
    if has_kind || written == ANYONE { written } else { format!("id:{written}") }
}
