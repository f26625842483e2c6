//! Several ways to ask at once.

use std::fmt;
use std::sync::Arc;

use futures_util::future::select_all;
use haft_contract::{Answer, ApprovalRequest, Approver, BoxFuture};

/// Asks all of them at once: the first answer counts, and the others are no longer asked.
pub struct FirstOf(pub Vec<Arc<dyn Approver>>);

impl fmt::Debug for FirstOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FirstOf").field(&self.0.len()).finish()
    }
}

impl Approver for FirstOf {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        let asked: Vec<_> = self.0.iter().map(|approver| approver.ask(request.clone())).collect();
        if asked.is_empty() {
            let comment = Some("nobody can be asked here. Do without it, or tell the person what you need it for.".to_owned());
            return Box::pin(async { Answer::Deny { comment } });
        }
        Box::pin(async { select_all(asked).await.0 })
    }

    /// What one of them cannot show beside another question, none is shown.
    fn one_at_a_time(&self) -> bool {
        self.0.iter().any(|approver| approver.one_at_a_time())
    }
}
