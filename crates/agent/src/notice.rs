//! Notices for the model that arise while a conversation runs.

use haft_contract::BoxFuture;

/// Something that may have news for the model, such as a changed file of instructions.
pub trait NoticeSource: Send + Sync {
    /// What is new since the last time; each is told once. Within a turn it is asked after every round, and may spare itself the look.
    fn notices(&self, moment: NoticeMoment) -> BoxFuture<'_, Vec<Notice>>;
}

/// When news are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeMoment {
    /// A turn begins.
    TurnStart,
    /// Results go to the model.
    Round,
}

/// A notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// For the user, in one line.
    pub summary: String,
    /// For the model.
    pub text: String,
}
