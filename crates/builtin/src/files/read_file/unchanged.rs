//! What a session was shown already is not shown again.

use std::path::{Path, PathBuf};

use haft_contract::{ToolContext, ToolError, ToolOutput};
use serde_json::json;

use crate::shared::place;

/// Larger files are not remembered: the fingerprint of one costs reading all of it.
const REMEMBERED: u64 = 10 * 1024 * 1024;

/// What a session knows of a file, and whether it can be known.
#[derive(Debug)]
pub(super) struct Memory<'a> {
    cx: &'a ToolContext,
    known: Option<(PathBuf, String)>,
}

impl<'a> Memory<'a> {
    /// Takes the file's fingerprint, before it is read: if it changes in between, the session holds the older one, and
    /// whoever writes is told to read again.
    pub(super) async fn of(cx: &'a ToolContext, path: &Path, size: u64) -> Result<Self, ToolError> {
        let place = place::of(cx, path).filter(|_| size <= REMEMBERED);
        let Some(place) = place else { return Ok(Self { cx, known: None }) };
        let fingerprint = cx.fs().fingerprint(path).await?;
        Ok(Self { cx, known: fingerprint.map(|fingerprint| (place.to_owned(), fingerprint)) })
    }

    /// The answer for a part that an earlier call showed, if the file is still the same.
    pub(super) fn shown(&self, name: &str, part: &str) -> Option<ToolOutput> {
        let (place, fingerprint) = self.known.as_ref()?;
        let earlier = self.cx.seen().shown(place, part, fingerprint)?;
        let text = format!(
            "(Unchanged: the call '{earlier}' showed the same part of {name}, and the file is still the same. \
             Use what it returned; again=true shows it once more.)"
        );
        let details = json!({"path": name, "kind": "unchanged", "shown_by": earlier});
        Some(ToolOutput::text(text).with_details(details))
    }

    /// Notes that the file was read, and this part of it shown.
    pub(super) fn keep(&self, part: &str) {
        if let Some((place, fingerprint)) = &self.known {
            self.cx.seen().note(place, fingerprint);
            self.cx.seen().show(place, part, &self.cx.call().id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::{DynTool, Erased, PlanContext, SeenFiles};
    use haft_testkit::{FakeHost, context_for, expect_text};
    use serde_json::Value;

    use super::super::ReadFile;
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
            let (plan, run) = Erased::new(ReadFile).prepare(arguments, &PlanContext::new(&*self.host))?.into_parts();
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
