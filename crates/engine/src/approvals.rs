//! Asking a person: when it is a question's turn, who answers it, and what the answer is worth.

mod ask;
mod desk;
mod first_of;
mod questions;

pub(crate) use self::ask::{Asking, nobody_to_ask};
pub use self::desk::{AnswerError, ApprovalDesk, DeskNotice};
pub use self::first_of::FirstOf;
pub(crate) use self::questions::Questions;
