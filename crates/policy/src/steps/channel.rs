//! What holds for a channel, one group of it, and one sender in it.

use crate::catalog::Vocabulary;
use crate::list::Groups;
use crate::name::folded;
use crate::name_map::NameMap;
use crate::steps::Lists;
use crate::steps::lists::{Overrides, counting};
use crate::{Caller, Candidate, ChannelSpec, Decision, Sender, ToolLists};

const STEP: &str = "group";
const ANYONE: &str = "*";

#[derive(Debug, Clone)]
struct Channel {
    lists: Lists,
    senders: NameMap<Lists>,
}

/// The channels that have lists of their own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Channels {
    by_name: NameMap<Channel>,
}

impl Channels {
    pub(crate) fn compile(channels: &[(String, ChannelSpec)], groups: &Groups, vocabulary: &Vocabulary) -> Self {
        let channel = |(name, spec): &(String, ChannelSpec)| {
            let key = format!("channels.\"{name}\"");
            let lists = Lists::compile(format!("{key}.tools"), &spec.tools, groups, vocabulary);
            let sender = |(sender, lists): &(String, ToolLists)| {
                (sender_key(sender), Lists::compile(format!("{key}.senders.\"{sender}\""), lists, groups, vocabulary))
            };
            (folded(name), Channel { lists, senders: spec.senders.iter().map(sender).collect() })
        };
        Self { by_name: channels.iter().map(channel).collect() }
    }

    pub(crate) fn apply(&self, decision: &mut Decision, tool: &Candidate<'_>, caller: &Caller) {
        for channel in self.find(caller) {
            for lists in channel.lists_of(caller.sender.as_ref()) {
                lists.apply(decision, STEP, tool);
            }
        }
    }

    /// One group of a channel in place of the channel, and that in place of all channels.
    fn find(&self, caller: &Caller) -> Vec<&Channel> {
        let Some(name) = caller.channel.as_deref().filter(|_| !self.by_name.is_empty()).map(folded) else { return Vec::new() };
        let general = name.split_once(':').map(|(channel, _)| channel);
        let names = [Some(name.as_str()), general, Some(ANYONE)];
        counting(names.into_iter().flatten().filter_map(|name| self.by_name.get(name)))
    }
}

impl Overrides for Channel {
    fn overrides(&self) -> bool {
        self.lists.overrides() || self.senders.values().any(Lists::overrides)
    }
}

impl Channel {
    /// A sender's lists in place of the channel's; by id, then number, then user name, then shown name: what is hardest to
    /// forge counts first.
    fn lists_of(&self, sender: Option<&Sender>) -> Vec<&Lists> {
        let named = sender.into_iter().flat_map(Sender::keys).chain([ANYONE.to_owned()]);
        counting(named.filter_map(|key| self.senders.get(&key)).chain([&self.lists]))
    }
}

/// A sender without a kind is an id.
fn sender_key(written: &str) -> String {
    let written = written.trim();
    if written == ANYONE { ANYONE.to_owned() } else { Sender::parse(written).keys().into_iter().next().unwrap_or_default() }
}
