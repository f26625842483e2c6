//! What a search among 2,000 tools costs, beside a scan of the same texts for the same words in the same run.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program that prints numbers")]

mod measure;

use std::hint::black_box;
use std::sync::Arc;

use haft::ports::ToolIndex;
use haft::store::{FileBlobs, InMemoryCallLog};
use haft::{PolicySpec, Registry, Session, StandardPolicy, ToolSource};
use haft_agent::DeferredTools;
use haft_testkit::{FakeHost, ScriptedTool};

use crate::measure::{head, median, row, time};

const TOOLS: usize = 2_000;
const VERBS: &[&str] = &["create", "list", "update", "delete", "search", "export", "assign", "archive"];
const NOUNS: &[&str] = &["issue", "invoice", "calendar event", "pull request", "customer", "dashboard", "deployment", "mailbox", "ticket"];

fn main() {
    head();
    let descriptions: Vec<(String, String)> = (0..TOOLS).map(describe).collect();
    let deferred = DeferredTools::default();
    let registry = Registry::new();
    for (name, description) in &descriptions {
        let tool = ScriptedTool::new(name.clone()).define(|definition| definition.description = description.clone().into());
        registry.register(tool.shared(), ToolSource::Mcp("acme".into())).expect("a free name");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let blobs = Arc::new(FileBlobs::open(folder.path()).expect("blobs"));
    let policy = StandardPolicy::compile(&PolicySpec::default(), haft::catalog::Vocabulary::default()).expect("a policy");
    let engine = haft::Engine::builder(Arc::new(registry), Arc::new(InMemoryCallLog::default()), blobs).policy(Arc::new(policy)).build();
    let session = Session::builder(FakeHost::new() as _).id("s").build();
    let _disclosed = deferred.disclose(&engine, &session, &[]);

    let queries = ["archive customer invoices", "select:list_issue_8,create_issue_0", "+deployment export 1234", "deployments by region"];
    for query in queries {
        let scan = median(|| time(20, || assert!(scan(&descriptions, black_box(query)) <= TOOLS)));
        let ours = median(|| time(50, || drop(black_box(deferred.search("s", black_box(query), 5).expect("a result")))));
        row(&format!("search {TOOLS} tools: {query}"), ours, scan, "a scan of the same texts");
    }
    let building = median(|| {
        time(3, || {
            let fresh = DeferredTools::default();
            let _disclosed = fresh.disclose(&engine, &session, &[]);
            drop(black_box(fresh.search("s", "archive", 5).expect("a result")));
        })
    });
    let scan = median(|| time(20, || assert!(scan(&descriptions, black_box("archive")) <= TOOLS)));
    row(&format!("first search of {TOOLS} tools, which makes the index"), building, scan, "a scan of the same texts");
}

fn describe(number: usize) -> (String, String) {
    let (verb, noun) = (VERBS[number % VERBS.len()], NOUNS[number / VERBS.len() % NOUNS.len()]);
    let name = format!("{verb}_{}_{number}", noun.replace(' ', "_"));
    let description = format!(
        "{verb} a {noun} of the account. Takes the id of the {noun} and the fields to {verb}; returns the {noun} with its history. \
         Use it when the user asks about one {noun} in region {number}, not for reports."
    );
    (name, description)
}

/// How many texts have one of the words: the least that a search must do without an index.
fn scan(descriptions: &[(String, String)], query: &str) -> usize {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let has_word = |(name, text): &&(String, String)| {
        let text = format!("{name} {text}").to_lowercase();
        words.iter().any(|word| text.contains(word))
    };
    descriptions.iter().filter(has_word).count()
}
