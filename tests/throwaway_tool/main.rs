//! A tool is one file and one line: a tool is added here as built-in tools are, in a section that has none yet, and the
//! catalog, the policy and the engine know it. Nothing below names it.
#![allow(clippy::expect_used, reason = "a test that cannot continue has failed")]

use std::path::Path;
use std::sync::Arc;

use haft::catalog::{ToolGroup, Vocabulary, in_profile};
use haft::store::{FileBlobs, InMemoryCallLog};
use haft::{
    Access, Candidate, Dialect, DynTool, Engine, ListEntry, PolicySpec, Registry, RuleKind, RuleSet, Session, StandardPolicy, ToolCall,
    ToolResult, ToolSource,
};
use haft_testkit::FakeHost;
use serde_json::json;

haft_builtin::tools! {
    planning {
        tally_words => TallyWords,
    }
}

fn tool() -> Arc<dyn DynTool> {
    all().pop().expect("the list has one tool")
}

/// Files beneath a folder whose text names the tool, each with the number of lines that do.
fn mentions(folder: &Path, name: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder can be read").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            found.extend(mentions(&entry, name));
        } else if let Ok(text) = std::fs::read_to_string(&entry) {
            let lines = text.lines().filter(|line| line.contains(name)).count();
            found.extend((lines > 0).then(|| (entry.to_string_lossy().into_owned(), lines)));
        }
    }
    found
}

#[test]
fn a_new_tool_touches_its_own_file_and_one_line_of_the_list() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = metas().next().expect("the list has one tool").name;
    let own = root.join("tests/throwaway_tool/planning").join(name).with_extension("rs");
    assert!(own.is_file());
    let list = root.join("tests/throwaway_tool/main.rs").to_string_lossy().into_owned();
    assert_eq!(mentions(&root.join("tests"), name), [(list, 1)], "its name is that of its file and of one line");
    for folder in ["crates", "src", "docs"] {
        assert_eq!(mentions(&root.join(folder), name), []);
    }
}

#[test]
fn the_policy_knows_a_new_tool_by_its_definition() {
    let tool = tool();
    let definition = tool.definition();
    let vocabulary = Vocabulary::default().with([(definition, &ToolSource::BuiltIn)]);
    for name in definition.names() {
        assert_eq!(vocabulary.canonical(name), Some(&*definition.name), "{name}");
        let rule = format!("{name}(docs/**)");
        assert_eq!(RuleSet::check(RuleKind::Deny, &rule, &vocabulary, None), Ok(()), "{rule}");
        assert!(RuleSet::check(RuleKind::Deny, &format!("{name}(domain:a.org)"), &Vocabulary::default(), None).is_err());
    }
    assert!(in_profile(definition, "coding") && !in_profile(definition, "messaging"));
    let section = ToolGroup::from_name(definition.section.as_str());
    assert!(section.holds(&Candidate::new(definition, &ToolSource::BuiltIn)));
}

#[tokio::test]
async fn a_new_tool_is_called_refused_and_shown_like_any_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let (registry, tool) = (Registry::new(), tool());
    for tool in haft::builtin::all().into_iter().chain([Arc::clone(&tool)]) {
        registry.register(tool, ToolSource::BuiltIn).expect("its names are free");
    }
    let definition = tool.definition();
    let entries = registry.entries();
    let vocabulary = Vocabulary::default().with(entries.iter().map(|entry| (entry.definition(), entry.source())));
    let mut spec = PolicySpec::default();
    spec.rules.deny = vec![ListEntry::from(&*format!("{}(secret/**)", definition.name))];
    let policy = StandardPolicy::compile(&spec, vocabulary).expect("the rule names a tool");
    let blobs = FileBlobs::open(folder.path()).expect("a folder of its own");
    let engine =
        Engine::builder(Arc::new(registry), Arc::new(InMemoryCallLog::default()), Arc::new(blobs)).policy(Arc::new(policy)).build();
    let host = FakeHost::new();
    host.files.put("poem.txt", "one two three");
    host.files.put("secret/poem.txt", "one two");
    let session = Session::builder(host).owner().access(Access::ReadOnly).dialect(Dialect::Claw).build();
    for name in definition.names() {
        let ToolResult { outcome, .. } = engine.run(ToolCall::new("1", name, json!({"path": "poem.txt"})), &session).await;
        assert_eq!(outcome.expect(name).texts().collect::<String>(), "3 words");
        let ToolResult { outcome, .. } = engine.run(ToolCall::new("2", name, json!({"path": "secret/poem.txt"})), &session).await;
        assert!(outcome.is_err(), "{name} is bound by the rule");
    }
    assert_eq!(definition.name_in(Dialect::Claw), definition.forms[0].name);
}
