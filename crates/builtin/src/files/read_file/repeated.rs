//! A part of a file that the session was shown before is not shown again.

use std::path::Path;

use haft_contract::{FileReader, ToolContext, ToolError, ToolOutput};
use serde_json::json;

use crate::shared::seen::planned_path;

/// Larger files are not remembered: the fingerprint of one costs reading all of it.
const REMEMBERED: u64 = 10 * 1024 * 1024;

/// Tells whether the session was shown a part of an open file already.
#[derive(Debug)]
pub(super) struct RepeatCheck<'a> {
    cx: &'a ToolContext,
    /// The file's path and its fingerprint, unless the file is too large.
    file: Option<(&'a Path, String)>,
}

impl<'a> RepeatCheck<'a> {
    /// Takes the fingerprint from the open file, before its bytes are shown: a program that writes the file later changes
    /// the fingerprint, and the session cannot overwrite what it was not shown.
    pub(super) async fn new(path: &Path, reader: &dyn FileReader, cx: &'a ToolContext) -> Result<Self, ToolError> {
        let file = match planned_path(cx, path).filter(|_| reader.size() <= REMEMBERED) {
            Some(path) => Some((path, reader.fingerprint().await?)),
            None => None,
        };
        Ok(Self { cx, file })
    }

    /// The answer for a part that an earlier call showed, if the file is still the same.
    pub(super) fn answer(&self, name: &str, part: &str) -> Option<ToolOutput> {
        let (path, fingerprint) = self.file.as_ref()?;
        let earlier = self.cx.seen_files().find_call(path, part, fingerprint)?;
        let text = format!(
            "(Unchanged: the call '{earlier}' showed the same part of {name}, and the file is still the same. \
             Use what it returned; again=true shows it once more.)"
        );
        let details = json!({"path": name, "kind": "unchanged", "shown_by": earlier});
        Some(ToolOutput::text(text).with_details(details))
    }

    /// Notes that the file was read, and this part of it shown.
    pub(super) fn remember(&self, part: &str) {
        if let Some((path, fingerprint)) = &self.file {
            self.cx.seen_files().note(path, fingerprint);
            self.cx.seen_files().show(path, part, &self.cx.call().id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::{PlanContext, SeenFiles};
    use haft_testkit::{FakeHost, context_for, expect_text};
    use serde_json::Value;

    use super::*;

    struct Session {
        host: Arc<FakeHost>,
        seen: Arc<SeenFiles>,
    }

    impl Session {
        fn new() -> Self {
            Self { host: FakeHost::new(), seen: Arc::default() }
        }
        async fn read(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
            self.call("read_file", arguments).await
        }
        async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
            let tool = crate::all().into_iter().find(|tool| tool.definition().name == name).unwrap();
            let (plan, run) = tool.prepare(arguments, &PlanContext::new(&*self.host))?.into_parts();
            run(context_for(plan, Arc::clone(&self.host)).remembering(Arc::clone(&self.seen))).await
        }
        async fn is_brief(&self, arguments: Value) -> bool {
            self.read(arguments).await.unwrap().details.unwrap()["kind"] == "unchanged"
        }
    }

    const BRIEF: &str = "(Unchanged: the call 'call-1' showed the same part of f, and the file is still the same. \
         Use what it returned; again=true shows it once more.)";

    #[tokio::test]
    async fn the_same_part_of_the_same_file_is_shown_once() {
        let session = Session::new();
        session.host.files.put("f", "one\ntwo\n");
        assert_eq!(expect_text(session.read(json!({"path": "f"})).await), "one\ntwo\n");
        let brief = session.read(json!({"path": "f"})).await.unwrap();
        let details = json!({"path": "f", "kind": "unchanged", "shown_by": "call-1"});
        assert_eq!(brief, ToolOutput::text(BRIEF).with_details(details));
        assert!(session.is_brief(json!({"path": "/workspace/f", "offset": 1})).await, "the same place by another name");
        for other in [json!({"path": "f", "offset": 2}), json!({"path": "f", "limit": 1}), json!({"path": "f", "line_numbers": true})] {
            assert!(!session.is_brief(other.clone()).await, "{other}");
            assert!(session.is_brief(other).await);
        }
        assert_eq!(expect_text(session.read(json!({"path": "f", "again": true})).await), "one\ntwo\n");
        session.host.files.put("f", "three\n");
        assert_eq!(expect_text(session.read(json!({"path": "f"})).await), "three\n");
        session.seen.forget_parts();
        assert_eq!(expect_text(session.read(json!({"path": "f"})).await), "three\n");
    }

    /// Content that another program writes while a file is read must not count as shown: write_file would replace it.
    #[tokio::test]
    async fn a_write_right_after_opening_is_not_lost() {
        let session = Session::new();
        session.host.files.put("f", "old");
        session.host.files.replace_after_open("f", "theirs");
        assert_eq!(expect_text(session.read(json!({"path": "f"})).await), "old");
        let refused = session.call("write_file", json!({"path": "f", "content": "old, and mine"})).await;
        assert_eq!(refused.map(drop).map_err(|error| error.message().starts_with("f was changed by another program")), Err(true));
        assert_eq!(session.host.files.text("f").as_deref(), Some("theirs"));
        assert_eq!(expect_text(session.read(json!({"path": "f"})).await), "theirs");
        session.call("write_file", json!({"path": "f", "content": "theirs, and mine"})).await.unwrap();
    }

    /// What was appended blindly is no reading: the session still holds what it was shown.
    #[tokio::test]
    async fn an_append_does_not_hide_a_change_by_another_program() {
        let session = Session::new();
        session.host.files.put("f", "old\n");
        session.read(json!({"path": "f"})).await.unwrap();
        session.call("write_file", json!({"path": "f", "content": "mine\n", "mode": "append"})).await.unwrap();
        session.call("write_file", json!({"path": "f", "content": "all mine\n"})).await.expect("nobody else wrote");
        session.host.files.put("f", "theirs\n");
        session.call("write_file", json!({"path": "f", "content": "mine\n", "mode": "append"})).await.unwrap();
        let refused = session.call("write_file", json!({"path": "f", "content": "all mine\n"})).await;
        assert!(refused.is_err() && session.host.files.text("f").as_deref() == Some("theirs\nmine\n"));
    }

    #[tokio::test]
    async fn what_failed_was_not_shown_and_large_files_are_not_remembered() {
        let session = Session::new();
        session.host.files.put("bad", "a\u{0}");
        for _ in 0..2 {
            assert!(session.read(json!({"path": "bad"})).await.is_err());
        }
        let most = usize::try_from(REMEMBERED).unwrap();
        session.host.files.put("most", vec![b'\n'; most]);
        session.host.files.put("more", vec![b'\n'; most + 1]);
        for (path, brief) in [("most", true), ("more", false)] {
            assert!(!session.is_brief(json!({"path": path})).await);
            assert_eq!(session.is_brief(json!({"path": path})).await, brief, "{path}");
            assert_eq!(session.seen.fingerprint(Path::new("/workspace").join(path).as_path()).is_some(), brief, "{path}");
        }
    }
}
