//! Who has the keyboard: the line editor of a conversation, or a question. A sub-agent in the background may ask while the user types.

use std::ops::{Deref, DerefMut};

use tokio::sync::{Mutex, MutexGuard, watch};

use super::typed::TypedSource;

/// Which questions there are, and whether what is typed answers them.
#[derive(Debug)]
pub(super) struct KeyboardTurns {
    /// Questions that are open or wait.
    questions: watch::Sender<usize>,
    /// Whether what is typed reaches questions.
    answered: watch::Sender<bool>,
}

impl Default for KeyboardTurns {
    /// Questions read the keyboard themselves.
    fn default() -> Self {
        Self { questions: watch::Sender::new(0), answered: watch::Sender::new(true) }
    }
}

impl KeyboardTurns {
    /// From now on questions wait until they are answered: a caller reads the keyboard.
    pub(super) fn wait_for_answering(&self) {
        self.answered.send_replace(false);
    }

    /// What is typed answers questions, until it is dropped.
    pub(super) fn answering(&self) -> Answering<'_> {
        self.answered.send_replace(true);
        Answering(&self.answered)
    }

    /// Resolves when there is a question.
    pub(super) fn question_waits(&self) -> impl Future<Output = ()> + Send + use<> {
        counted(self.questions.subscribe(), |questions| questions > 0)
    }

    /// Resolves when there is none.
    pub(super) fn questions_end(&self) -> impl Future<Output = ()> + Send + use<> {
        counted(self.questions.subscribe(), |questions| questions == 0)
    }

    /// The turn of a question: after those before it, and when what is typed reaches it.
    pub(super) async fn question<'a>(&'a self, source: &'a Mutex<TypedSource>) -> QuestionTurn<'a> {
        let counted = CountedQuestion::begin(&self.questions);
        let source = source.lock().await;
        // Closed by nobody.
        self.answered.subscribe().wait_for(|answered| *answered).await.ok();
        QuestionTurn { source, _counted: counted }
    }
}

async fn counted(mut questions: watch::Receiver<usize>, is_reached: impl Fn(usize) -> bool) {
    if questions.wait_for(|questions| is_reached(*questions)).await.is_err() {
        // Without a terminal nothing is asked any more.
        std::future::pending::<()>().await;
    }
}

/// While it exists, what is typed answers questions.
pub(super) struct Answering<'a>(&'a watch::Sender<bool>);

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.send_replace(false);
    }
}

/// A question that is open or waits.
struct CountedQuestion<'a>(&'a watch::Sender<usize>);

impl<'a> CountedQuestion<'a> {
    fn begin(questions: &'a watch::Sender<usize>) -> Self {
        questions.send_modify(|count| *count += 1);
        Self(questions)
    }
}

impl Drop for CountedQuestion<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// The turn of a question: where it reads from.
pub(super) struct QuestionTurn<'a> {
    source: MutexGuard<'a, TypedSource>,
    _counted: CountedQuestion<'a>,
}

impl Deref for QuestionTurn<'_> {
    type Target = TypedSource;

    fn deref(&self) -> &TypedSource {
        &self.source
    }
}

impl DerefMut for QuestionTurn<'_> {
    fn deref_mut(&mut self) -> &mut TypedSource {
        &mut self.source
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn is_ready(future: impl Future) -> bool {
        tokio::time::timeout(Duration::from_millis(20), future).await.is_ok()
    }

    #[tokio::test]
    async fn question_waits_until_what_is_typed_reaches_it() {
        let (turns, source) = (KeyboardTurns::default(), Mutex::new(TypedSource::default()));
        assert!(is_ready(turns.question(&source)).await, "it reads the keyboard itself");
        turns.wait_for_answering();
        let question = turns.question(&source);
        tokio::pin!(question);
        assert!(!is_ready(turns.question_waits()).await && is_ready(turns.questions_end()).await);
        assert!(!is_ready(&mut question).await && is_ready(turns.question_waits()).await);
        let answering = turns.answering();
        let open = question.await;
        assert!(!is_ready(turns.question(&source)).await, "one question at a time");
        drop(answering);
        assert!(!is_ready(turns.questions_end()).await);
        drop(open);
        assert!(is_ready(turns.questions_end()).await && !is_ready(turns.question(&source)).await);
    }

    #[tokio::test]
    async fn question_that_is_withdrawn_waits_no_more() {
        let (turns, source) = (KeyboardTurns::default(), Mutex::new(TypedSource::default()));
        turns.wait_for_answering();
        assert!(!is_ready(turns.question(&source)).await);
        assert!(is_ready(turns.questions_end()).await && !is_ready(turns.question_waits()).await);
    }
}
