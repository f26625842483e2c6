//! A conversation that is summed up by the model itself when it grows too long. Nothing is deleted: the ledger keeps all of it.

use haft_provider::transcript::{Checked, size};
use haft_provider::{Block, Message, Role, ToolSpec, Trouble, Turn, Usage};
use tokio_util::sync::CancellationToken;

use crate::events::TurnEvent;
use crate::ledger::Entry;
use crate::room::{Room, Scale, Weight, give_way};
use crate::runner::{Progress, Runner, Stopped, text_of};

/// What the model is asked for.
pub(crate) const INSTRUCTION: &str = "The conversation has grown too long for you to be sent all of it again. Write the summary that \
    you would need to go on without it; it replaces everything above. Say in this order: what the person asked for, word for word \
    where it still matters, and what they decided or forbade; what was done and found, with file names, commands, numbers and exact \
    errors; what is unfinished, and the next step. Do not call tools. Do not add anything that was not said.";
/// What part of the room a conversation keeps word for word when the rest is summed up, in percent.
const KEPT_PERCENT: usize = 25;
/// What stands before a summary in the conversation.
const HEADING: &str = "[Summary of the conversation so far, which was left out to save room]";

impl Runner {
    fn room(&self, tools: &[ToolSpec]) -> Room {
        Room::of(self.provider.model(), self.compact_percent, &self.system, tools)
    }

    /// About how many tokens the next request has.
    pub fn context(&self) -> usize {
        self.room(&self.tools().0).taken(&self.messages, self.scale)
    }

    /// By how much the estimate is wrong for this model and this conversation, now that the provider has counted.
    pub(crate) fn learn(&mut self, room: &Room, usage: Usage, progress: &mut Progress) {
        self.scale = Scale::learnt(room.taken_by(progress.weight.of(&self.messages), Scale::default()), usage.input);
    }

    /// Before the model is asked: where the conversation is too long, old results give way, and if that is not enough, it is
    /// summed up.
    pub(crate) async fn make_room(
        &mut self,
        tools: &[ToolSpec],
        cancel: &CancellationToken,
        progress: &mut Progress,
    ) -> Result<Room, Stopped> {
        let room = self.room(tools);
        if room.taken_by(progress.weight.of(&self.messages), self.scale) <= room.trigger {
            return Ok(room);
        }
        progress.weight = Weight::default();
        let given = give_way(&mut self.messages, &room, self.scale, &self.engine).await;
        if given > 0 {
            self.session.seen().forget_parts();
            let notice = format!("{given} old results are left out of what the model is sent, so that the conversation fits");
            self.watcher.event(&TurnEvent::Notice(&notice));
        }
        if room.taken(&self.messages, self.scale) > room.trigger {
            self.sum_up(cancel, progress).await?;
        }
        Ok(room)
    }

    /// Sums the conversation up now, whatever its length; whether there was something to sum up.
    pub async fn compact(&mut self, cancel: &CancellationToken) -> Result<bool, String> {
        let mut progress = Progress::begin();
        self.mend(&mut progress);
        let summed_up = self.sum_up(cancel, &mut progress).await;
        summed_up.map_err(|stopped| stopped.told().1.unwrap_or_else(|| "it was cancelled".into()))
    }

    /// The model sums up what was said, and goes on from there. Without a summary the conversation stays as it is.
    pub(crate) async fn sum_up(&mut self, cancel: &CancellationToken, progress: &mut Progress) -> Result<bool, Stopped> {
        progress.summaries += 1;
        let (tools, _) = self.tools();
        let Some(place) = cut(&self.messages, self.room(&tools).trigger / 100 * KEPT_PERCENT) else { return Ok(false) };
        self.watcher.event(&TurnEvent::Notice(&format!("the conversation is long: {place} messages are summed up")));
        let asked = question(&self.messages[..place]);
        let turn = Turn { model: self.provider.model(), system: &self.system, messages: &asked, tools: &tools };
        let summary = match self.provider.answer(turn, cancel, &mut |_| {}).await {
            Ok(answer) => {
                self.count(answer.reply.usage, progress).await?;
                text_of(&answer.reply.blocks)
            }
            Err(error) if error.trouble == Trouble::Cancelled => return Err(Stopped::Provider(error)),
            Err(error) => {
                self.watcher.event(&TurnEvent::Notice(&format!("the conversation could not be summed up: {error}")));
                return Ok(false);
            }
        };
        if summary.trim().is_empty() {
            self.watcher.event(&TurnEvent::Notice("the conversation could not be summed up: the model said nothing"));
            return Ok(false);
        }
        let (message, kept) = beginning(&self.messages, place, &summary);
        self.ledger.keep(&Entry::Summary { message: message.clone(), kept }).await.map_err(Stopped::NotKept)?;
        self.messages.splice(..self.messages.len() - kept, [message]);
        self.session.seen().forget_parts();
        (progress.weight, progress.checked) = (Weight::default(), Checked::default());
        Ok(true)
    }
}

/// Where a conversation may be cut so that what follows has at most so many tokens, if anywhere: never between a call and its
/// result, and as early as possible. If nothing is that small, as late as possible.
pub(crate) fn cut(messages: &[Message], keep_tokens: usize) -> Option<usize> {
    let mut rest = 0;
    let mut best = None;
    for (place, message) in messages.iter().enumerate().skip(1).rev() {
        rest += size(message);
        if best.is_some() && rest > keep_tokens {
            break;
        }
        if begins_something(message) {
            best = Some(place);
        }
    }
    best
}

/// Results belong to what stands before them.
fn begins_something(message: &Message) -> bool {
    message.role == Role::Assistant || message.blocks.iter().all(|block| block.result_id().is_none())
}

/// What the model is asked: the part that is to be summed up, and to do so.
pub(crate) fn question(part: &[Message]) -> Vec<Message> {
    let mut asked = part.to_vec();
    match asked.last_mut() {
        Some(message) if message.role == Role::User => message.blocks.push(Block::text(INSTRUCTION)),
        _ => asked.push(Message::user(INSTRUCTION)),
    }
    asked
}

/// The message that a shortened conversation begins with, and how many of the last ones follow it.
pub(crate) fn beginning(messages: &[Message], cut: usize, summary: &str) -> (Message, usize) {
    let summary = Block::text(format!("{HEADING}\n{}", summary.trim()));
    match messages.get(cut) {
        Some(Message { role: Role::User, blocks }) => {
            let blocks = std::iter::once(summary).chain(blocks.iter().cloned()).collect();
            (Message { role: Role::User, blocks }, messages.len() - cut - 1)
        }
        _ => (Message { role: Role::User, blocks: vec![summary] }, messages.len() - cut),
    }
}

#[cfg(test)]
mod tests {
    use haft_provider::Piece;
    use haft_provider::transcript::validate;

    use super::*;

    fn round(number: usize) -> [Message; 2] {
        let (id, name) = (format!("call_{number}"), "read_file".to_owned());
        let call = Block::Call { id: id.clone(), name: name.clone(), arguments: "{}".into(), opaque: None };
        let content = vec![Piece::Text { text: "x".repeat(400) }];
        [Message::assistant(vec![call]), Message::results(vec![Block::Result { id, name, content, is_error: false }])]
    }

    /// Two turns, the first of three rounds and the second of two.
    fn conversation() -> Vec<Message> {
        let done = || Message::assistant(vec![Block::text("done")]);
        let first = std::iter::once(Message::user("first")).chain((0..3).flat_map(round)).chain([done()]);
        first.chain([Message::user("second")]).chain((3..5).flat_map(round)).collect()
    }

    #[test]
    fn every_cut_leaves_a_conversation_that_may_be_sent() {
        let messages = conversation();
        let mut cuts = Vec::new();
        for keep in 0..700 {
            let Some(place) = cut(&messages, keep) else { panic!("it can be cut") };
            let (first, kept) = beginning(&messages, place, "so it was");
            let shorter: Vec<Message> = std::iter::once(first).chain(messages[messages.len() - kept..].iter().cloned()).collect();
            assert_eq!(validate(&shorter), [], "{keep}: {shorter:?}");
            assert_eq!(validate(&question(&messages[..place])), [], "{keep}");
            assert!(matches!(&shorter[0].blocks[0], Block::Text { text, .. } if text.ends_with("]\nso it was")), "{shorter:?}");
            cuts.push(place);
        }
        cuts.dedup();
        assert_eq!(cuts, [11, 9, 8, 7, 5, 3, 1], "the more may stay the earlier it is cut");
    }

    #[test]
    fn a_conversation_of_one_message_cannot_be_cut() {
        assert_eq!(cut(&[Message::user("x".repeat(10_000))], 10), None);
        assert_eq!(cut(&[], 10), None);
    }
}
