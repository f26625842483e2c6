//! What arrived of an answer so far: all there is, should it break off.

use haft_provider::{Block, Delta, Usage};

/// The complete parts of an answer, in order.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    blocks: Vec<Block>,
    /// What it has cost so far, which is to be paid although it broke off.
    pub(crate) usage: Usage,
    /// Why a call could not be kept, and so was not made.
    pub(crate) not_kept: Option<String>,
}

impl Heard {
    pub(crate) fn take(&mut self, delta: &Delta) {
        match (delta, self.blocks.last_mut()) {
            (Delta::Text(more), Some(Block::Text { text, .. })) => text.push_str(more),
            (Delta::Text(text), _) => self.blocks.push(Block::text(text.clone())),
            (Delta::CallReady { call, .. }, _) => self.blocks.push(call.clone()),
            (Delta::Usage(usage), _) => self.usage = *usage,
            _ => {}
        }
    }

    /// The parts that count: text that led to no call is only half of what was meant, and asked for again.
    pub(crate) fn blocks(self) -> Vec<Block> {
        let last_call = self.blocks.iter().rposition(|block| block.call_id().is_some());
        self.blocks.into_iter().take(last_call.map_or(0, |place| place + 1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_the_last_call_is_kept() {
        let call = Block::Call { id: "1".into(), name: "noop".into(), arguments: String::new(), opaque: None };
        let text = |text: &str| Delta::Text(text.into());
        let ready = Delta::CallReady { index: 0, call: call.clone() };
        let mut heard = Heard::default();
        for delta in [text("I "), text("look"), ready, text("and th")] {
            heard.take(&delta);
        }
        assert_eq!(heard.blocks(), [Block::text("I look"), call]);
        let mut heard = Heard::default();
        heard.take(&text("half a sen"));
        assert_eq!(heard.blocks(), []);
    }
}
