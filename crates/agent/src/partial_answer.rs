//! The part of an answer that has arrived, for the case that it is interrupted.

use haft_provider::{Block, Delta, Usage};

/// The complete parts of an answer, in order.
#[derive(Debug, Default)]
pub(crate) struct PartialAnswer {
    blocks: Vec<Block>,
    /// Its usage so far, which is billed although it was interrupted.
    pub(crate) usage: Usage,
    /// Why a call could not be written to the ledger, and so was not made.
    pub(crate) not_kept: Option<String>,
}

impl PartialAnswer {
    pub(crate) fn take(&mut self, delta: &Delta) {
        match (delta, self.blocks.last_mut()) {
            (Delta::Text(more), Some(Block::Text { text, .. })) => text.push_str(more),
            (Delta::Text(text), _) => self.blocks.push(Block::text(text.clone())),
            (Delta::CallReady { call, .. }, _) => self.blocks.push(call.clone()),
            (Delta::Usage(usage), _) => self.usage = *usage,
            _ => {}
        }
    }

    /// The blocks up to the last call; text behind it is incomplete, and requested again.
    pub(crate) fn blocks(self) -> Vec<Block> {
        let last_call = self.blocks.iter().rposition(|block| block.call_id().is_some());
        self.blocks.into_iter().take(last_call.map_or(0, |index| index + 1)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_before_the_last_call_are_kept() {
        let call = Block::Call { id: "1".into(), name: "noop".into(), arguments: String::new(), opaque: None };
        let text = |text: &str| Delta::Text(text.into());
        let ready = Delta::CallReady { index: 0, call: call.clone() };
        let mut partial = PartialAnswer::default();
        for delta in [text("I "), text("look"), ready, text("and th")] {
            partial.take(&delta);
        }
        assert_eq!(partial.blocks(), [Block::text("I look"), call]);
        let mut partial = PartialAnswer::default();
        partial.take(&text("half a sen"));
        assert_eq!(partial.blocks(), []);
    }
}
