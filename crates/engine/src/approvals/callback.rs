//! An approver made of callbacks, for embedding programs.

use haft_contract::BoxFuture;
use haft_contract::ports::{ApprovalAnswer, ApprovalRequest, Approver};

type AskFn = dyn Fn(ApprovalRequest) -> BoxFuture<'static, ApprovalAnswer> + Send + Sync;
type CanAskFn = dyn Fn() -> bool + Send + Sync;

/// An approver made of callbacks.
///
/// ```
/// use haft_contract::ports::ApprovalAnswer;
/// use haft_engine::CallbackApprover;
///
/// let approver = CallbackApprover::new(|request| async move {
///     if request.call.tool == "greet" { ApprovalAnswer::Session } else { ApprovalAnswer::Deny { comment: None } }
/// });
/// # drop(approver);
/// ```
pub struct CallbackApprover {
    ask: Box<AskFn>,
    can_ask: Box<CanAskFn>,
    one_at_a_time: bool,
}

haft_contract::opaque_debug!(CallbackApprover);

impl CallbackApprover {
    /// `ask` answers a question. One question follows the other.
    pub fn new<F>(ask: impl Fn(ApprovalRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ApprovalAnswer> + Send + 'static,
    {
        Self { ask: Box::new(move |request| Box::pin(ask(request))), can_ask: Box::new(|| true), one_at_a_time: true }
    }
    /// Says whether someone can answer now; while nobody can, calls that need approval are refused at once.
    pub fn can_ask(mut self, can_ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.can_ask = Box::new(can_ask);
        self
    }
    /// Asks several questions at once.
    pub fn several_at_once(mut self) -> Self {
        self.one_at_a_time = false;
        self
    }
}

impl Approver for CallbackApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        (self.ask)(request)
    }
    fn can_ask(&self) -> bool {
        (self.can_ask)()
    }
    fn one_at_a_time(&self) -> bool {
        self.one_at_a_time
    }
}
