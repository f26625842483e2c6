use serde_json::{Value, json};

use haft_provider::ResultPart;

use super::*;

const ALL: &[&str] = &[
    "get_current_time",
    "read_file",
    "write_file",
    "edit_file",
    "apply_patch",
    "glob_search",
    "grep_search",
    "http_request",
    "system_info",
    "notify",
    "exec",
    "agent",
];

fn tools(names: &[&str]) -> Vec<OfferedTool> {
    names.iter().map(|name| OfferedTool { name: (*name).into(), description: String::new(), parameters: json!({}).into() }).collect()
}

fn answered(messages: &[Message], names: &[&str]) -> ModelReply {
    let (demo, tools) = (DemoModel::default(), tools(names));
    reply(&ModelTurn { model: &demo.model, system: "", messages, tools: &tools })
}

fn calls_of(reply: &ModelReply) -> Vec<(String, Value)> {
    let call = |block: &Block| match block {
        Block::Call { name, arguments, .. } => Some((name.clone(), serde_json::from_str(arguments).unwrap())),
        _ => None,
    };
    reply.blocks.iter().filter_map(call).collect()
}

fn called(text: &str, names: &[&str]) -> Vec<(String, Value)> {
    calls_of(&answered(&[Message::user(text)], names))
}

fn said_in(reply: &ModelReply) -> String {
    text_of(&reply.blocks)
}

fn result(call: &Block, envelope: &Value) -> Block {
    let Block::Call { id, name, .. } = call else { panic!("{call:?}") };
    let content = vec![ResultPart::Text { text: envelope.to_string() }];
    Block::Result { id: id.clone(), name: name.clone(), content, is_error: envelope["status"] == "error" }
}

/// Answers every call with what `outcome` gives for its number, until the model is done; returns all calls and its last answer.
fn played(text: &str, outcome: impl Fn(usize) -> Result<&'static str, &'static str>) -> (Vec<(String, Value)>, String) {
    let (mut messages, mut calls) = (vec![Message::user(text)], Vec::new());
    for _ in 0..20 {
        let reply = answered(&messages, ALL);
        let made: Vec<&Block> = reply.blocks.iter().filter(|block| block.call_id().is_some()).collect();
        if made.is_empty() {
            return (calls, said_in(&reply));
        }
        let envelope = |number: usize| match outcome(number) {
            Ok(text) => json!({"status": "success", "result": text}),
            Err(text) => json!({"status": "error", "error_type": "x", "message": text}),
        };
        let results = made.iter().enumerate().map(|(number, call)| result(call, &envelope(calls.len() + number))).collect();
        calls.extend(calls_of(&reply));
        messages.extend([Message::assistant(reply.blocks.clone()), Message::results(results)]);
    }
    panic!("it does not end: {text}")
}

#[test]
fn demo_understands_many_phrasings() {
    let read = |path: &str| ("read_file", json!({"path": path}));
    let list = |path: Option<&str>| match path {
        Some(path) => ("glob_search", json!({"pattern": "**/*", "path": path})),
        None => ("glob_search", json!({"pattern": "**/*"})),
    };
    let find = |pattern: &str| ("glob_search", json!({"pattern": pattern}));
    let search = |pattern: &str| ("grep_search", json!({"pattern": pattern, "output_mode": "content"}));
    let search_in = |pattern: &str, path: &str| ("grep_search", json!({"pattern": pattern, "output_mode": "content", "path": path}));
    let write = |path: &str, content: &str| ("write_file", json!({"path": path, "content": content}));
    let append = |path: &str, content: &str| ("write_file", json!({"path": path, "content": content, "mode": "append"}));
    let replace = |path: &str, old: &str, new: &str| ("edit_file", json!({"path": path, "old_string": old, "new_string": new}));
    let replace_all =
        |path: &str, old: &str, new: &str| ("edit_file", json!({"path": path, "old_string": old, "new_string": new, "replace_all": true}));
    let delete = |path: &str| ("apply_patch", json!({"input": format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n")}));
    let rename = |from: &str, to: &str| {
        ("apply_patch", json!({"input": format!("*** Begin Patch\n*** Update File: {from}\n*** Move to: {to}\n*** End Patch\n")}))
    };
    let run = |command: &str| ("exec", json!({"command": command}));
    let time = |zone: &str| ("get_current_time", json!({"timezone": zone}));
    let now = || ("get_current_time", json!({}));
    let fetch = |url: &str| ("http_request", json!({"url": url}));
    let machine = || ("system_info", json!({}));
    for (text, expected) in [
        // time
        ("What time is it?", now()),
        ("what's the time", now()),
        ("tell me the date", now()),
        ("what day is it today?", now()),
        ("what time is it in Tokyo", time("Asia/Tokyo")),
        ("What is the time in New York?", time("America/New_York")),
        ("time in Europe/Oslo", time("Europe/Oslo")),
        // read
        ("read README.md", read("README.md")),
        ("read README", read("README")),
        ("please read the file README.md", read("README.md")),
        ("Can you show me src/main.rs?", read("src/main.rs")),
        ("cat .gitignore", read(".gitignore")),
        ("open 'my notes.txt'", read("my notes.txt")),
        ("what does README.md say?", read("README.md")),
        ("what does @README.md say?", read("README.md")),
        ("what is in notes.txt?", read("notes.txt")),
        ("show me the contents of notes.txt", read("notes.txt")),
        ("notes.txt", read("notes.txt")),
        ("Please read the file at notes.txt and tell me what it says.", read("notes.txt")),
        ("open the file called notes.txt and show me the contents", read("notes.txt")),
        ("show me the first 3 lines of notes.txt", ("read_file", json!({"path": "notes.txt", "limit": 3}))),
        ("print the first line of notes.txt", ("read_file", json!({"path": "notes.txt", "limit": 1}))),
        // list
        ("list files", list(None)),
        ("ls", list(None)),
        ("list the files here", list(None)),
        ("list all files in this folder", list(None)),
        ("show me the files", list(None)),
        ("what files are here?", list(None)),
        ("what's here?", list(None)),
        ("ls src", list(Some("src"))),
        ("list src/lib", list(Some("src/lib"))),
        ("list the files in src", list(Some("src"))),
        ("what is in src?", list(Some("src"))),
        ("what files are in docs/", list(Some("docs/"))),
        ("list hidden files", ("glob_search", json!({"pattern": "**/*", "hidden": true}))),
        ("give me a list of all the files", list(None)),
        ("what files do I have?", list(None)),
        ("show me what files exist", list(None)),
        // find
        ("list *.md", find("**/*.md")),
        ("list all *.md files", find("**/*.md")),
        ("find all .py files", find("**/*.py")),
        ("find files ending in .md", find("**/*.md")),
        ("find *.md in docs/", find("docs/**/*.md")),
        ("is there a file called notes.txt?", find("**/notes.txt")),
        ("does notes.txt exist?", find("**/notes.txt")),
        ("locate README", find("**/*README*")),
        ("find *.toml", find("**/*.toml")),
        ("find all files named *.rs", find("**/*.rs")),
        ("find files called Makefile", find("**/Makefile")),
        ("find the file notes.txt", find("**/notes.txt")),
        ("where is main.rs?", find("**/main.rs")),
        ("find src/*.rs", find("src/*.rs")),
        ("find all python files", find("**/*.py")),
        ("list the Markdown files", find("**/*.md")),
        // search
        ("grep for TODO in src", search_in("TODO", "src")),
        ("search the word hello in a.txt", search_in("hello", "a.txt")),
        ("search for the text 'a b' in src/", search_in("a b", "src/")),
        ("search for the phrase let x", search("let x")),
        ("find files that contain \"hello\"", search("hello")),
        ("find all files mentioning TODO", search("TODO")),
        ("search for \"TODO\"", search("TODO")),
        ("search for TODO", search("TODO")),
        ("grep fn main", search("fn main")),
        ("search for a.b(c)", search(r"a\.b\(c\)")),
        ("find TODO", search("TODO")),
        ("which files contain TODO?", search("TODO")),
        ("where is parse_rule defined?", search("parse_rule")),
        ("search for TODO in src/lib.rs", search_in("TODO", "src/lib.rs")),
        ("find TODO in src", search_in("TODO", "src")),
        ("search in 'src' for let x", search_in("let x", "src")),
        ("search for TODO in all files", search("TODO")),
        ("search for TODO in this folder", search("TODO")),
        ("search for hello world in the project", search("hello world")),
        ("search all files for TODO", search("TODO")),
        ("look for TODO everywhere", search("TODO")),
        ("find TODO in the code", search("TODO")),
        ("find the word hello in notes.txt", search_in("hello", "notes.txt")),
        // write, append, replace, delete
        ("save 'hello' as notes.txt", write("notes.txt", "hello\n")),
        ("append the text foo bar to the file notes.txt", append("notes.txt", "foo bar\n")),
        ("add a line saying bye to notes.txt", append("notes.txt", "bye\n")),
        ("add a new line 'x' to notes.txt", append("notes.txt", "x\n")),
        ("replace the word hello with goodbye in notes.txt", replace("notes.txt", "hello", "goodbye")),
        ("replace hello in notes.txt with goodbye", replace("notes.txt", "hello", "goodbye")),
        ("in notes.txt, replace \"a\" with \"b\"", replace("notes.txt", "a", "b")),
        ("remove hello from notes.txt", replace("notes.txt", "hello", "")),
        ("delete the word hello from notes.txt", replace("notes.txt", "hello", "")),
        ("write 'buy milk and eggs' to list.txt", write("list.txt", "buy milk and eggs\n")),
        ("write hello there to notes.txt", write("notes.txt", "hello there\n")),
        ("overwrite notes.txt with 'new'", write("notes.txt", "new\n")),
        ("append 'more' to notes.txt", append("notes.txt", "more\n")),
        ("append more of it to notes.txt", append("notes.txt", "more of it\n")),
        ("add the line 'three' to notes.txt", append("notes.txt", "three\n")),
        ("add 'x' at the end of notes.txt", append("notes.txt", "x\n")),
        ("put 'x' at the bottom of notes.txt", append("notes.txt", "x\n")),
        ("append to notes.txt: 'x'", append("notes.txt", "x\n")),
        ("replace 'a b' with 'c' in notes.txt", replace("notes.txt", "a b", "c")),
        ("replace hello with goodbye in notes.txt", replace("notes.txt", "hello", "goodbye")),
        ("change hello to goodbye in notes.txt", replace("notes.txt", "hello", "goodbye")),
        ("in notes.txt replace hello by goodbye", replace("notes.txt", "hello", "goodbye")),
        ("replace all occurrences of a with b in notes.txt", replace_all("notes.txt", "a", "b")),
        ("replace every a with b in notes.txt", replace_all("notes.txt", "a", "b")),
        ("delete notes.txt", delete("notes.txt")),
        ("please remove the file old/notes.txt", delete("old/notes.txt")),
        ("rm Makefile", delete("Makefile")),
        ("delete the file called notes.txt", delete("notes.txt")),
        ("rename a.txt to b.txt", rename("a.txt", "b.txt")),
        ("move src/a.rs to src/b.rs", rename("src/a.rs", "src/b.rs")),
        // commands
        ("run `cargo test`", run("cargo test")),
        ("run cargo build --release", run("cargo build --release")),
        ("run the command 'ls -l | wc -l'", run("ls -l | wc -l")),
        ("execute echo \"a b\" c", run("echo \"a b\" c")),
        ("run ls .", run("ls .")),
        ("run make all please", run("make all")),
        ("$ uname -a", run("uname -a")),
        ("ls -la", run("ls -la")),
        ("grep -r TODO .", run("grep -r TODO .")),
        ("git commit -m 'first'", run("git commit -m 'first'")),
        ("echo hello", run("echo hello")),
        ("mkdir -p a/b", run("mkdir -p a/b")),
        ("show the last 2 lines of notes.txt", run("tail -n 2 -- 'notes.txt'")),
        ("tail \"it's.txt\"", run(r"tail -n 10 -- 'it'\''s.txt'")),
        ("how many lines are there in notes.txt?", run("wc -l -- 'notes.txt'")),
        ("git status", run("git status")),
        ("show me the git status", run("git status")),
        ("what has changed?", run("git status")),
        ("what changed in git?", run("git status")),
        ("git log", run("git log --oneline -n 10")),
        ("show git diff", run("git diff")),
        // web, machine, the user, sub-agents
        ("fetch http://127.0.0.1:8080/a.txt", fetch("http://127.0.0.1:8080/a.txt")),
        ("Make an HTTP GET request to http://127.0.0.1:8080/get and show me the response.", fetch("http://127.0.0.1:8080/get")),
        ("http://127.0.0.1:8080/", fetch("http://127.0.0.1:8080/")),
        ("download example.org/x", fetch("https://example.org/x")),
        ("how much memory is there?", machine()),
        ("tell me about this computer", machine()),
        ("remind me \"tea\"", ("notify", json!({"message": "tea"}))),
        (
            "let an explorer \"read plan.toml\"",
            ("agent", json!({"prompt": "read plan.toml", "description": "read plan.toml", "subagent_type": "explore"})),
        ),
    ] {
        assert_eq!(called(text, ALL), [(expected.0.to_owned(), expected.1)], "{text}");
    }
}

#[test]
fn demo_does_nothing_at_all_if_it_does_not_understand_a_part() {
    for (text, part) in [
        ("tell me a joke", "tell me a joke"),
        ("don't delete notes.txt", "don't delete notes.txt"),
        ("do not run `ls`", "do not run `ls`"),
        ("never write 'x' to a.txt", "never write 'x' to a.txt"),
        ("delete notes.txt if it is empty", "delete notes.txt if it is empty"),
        ("should I delete notes.txt?", "should I delete notes.txt?"),
        ("how do I delete notes.txt?", "how do I delete notes.txt?"),
        ("delete everything", "delete everything"),
        ("delete all files", "delete all files"),
        ("delete *.txt", "delete *.txt"),
        ("delete src/", "delete src/"),
        ("delete line 3 of notes.txt", "delete line 3 of notes.txt"),
        ("create a folder x", "create a folder x"),
        ("append 'x'", "append 'x'"),
        ("insert 'x' into notes.txt at line 4", "insert 'x' into notes.txt at line 4"),
        ("summarize README.md", "summarize README.md"),
        ("translate README.md to French", "translate README.md to French"),
        ("what time is it in Atlantis?", "what time is it in Atlantis?"),
        ("search the web for cats", "search the web for cats"),
        ("find all cobol files", "find all cobol files"),
        ("append it to b.txt", "append it to b.txt"),
        ("write a poem to poem.txt", "write a poem to poem.txt"),
        ("write the output of ls to out.txt", "write the output of ls to out.txt"),
        ("create hello.py with a hello world program", "create hello.py with a hello world program"),
        ("append the current time to log.txt", "append the current time to log.txt"),
        ("run the tests in tests/", "run the tests in tests/"),
        ("run my script", "run my script"),
        ("rm -rf src", "rm -rf src"),
        ("remove a.txt from docs/", "remove a.txt from docs/"),
        ("replace x with y in all files", "replace x with y in all files"),
        ("read a.txt then append it to b.txt", "append it to b.txt"),
        ("delete a.txt then show it", "show it"),
        ("show the first 0 lines of a.txt", "show the first 0 lines of a.txt"),
        ("move a.txt to src/", "move a.txt to src/"),
        ("rename *.txt to b.txt", "rename *.txt to b.txt"),
        ("read a.txt and summarize b.txt", "summarize b.txt"),
        ("write 'x' to a.txt, then fly to the moon", "fly to the moon"),
        ("create a.txt with hello and goodbye", "goodbye"),
        ("write 'x' to a.txt and b.txt", "b.txt"),
        ("run it", "run it"),
        ("rename it to b.txt", "rename it to b.txt"),
        ("commit everything", "commit everything"),
    ] {
        let reply = answered(&[Message::user(text)], ALL);
        assert_eq!(calls_of(&reply), [], "{text}");
        let expected = format!("{ANNOUNCEMENT} I do not understand \"{part}\", so I did nothing. {HELP}");
        assert_eq!(said_in(&reply), expected, "{text}");
    }
}

#[test]
fn demo_takes_steps_in_order_and_reads_at_once() {
    let names = |calls: &[(String, Value)]| calls.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(" ");
    for (text, at_once, all) in [
        ("read a.txt and b.txt", "read_file read_file", "read_file read_file"),
        ("What time is it in Tokyo, and what does README.md say?", "get_current_time read_file", "get_current_time read_file"),
        ("read a.txt then read b.txt", "read_file", "read_file read_file"),
        ("write 'x' to a.txt and read a.txt", "write_file", "write_file read_file"),
        ("write 'x' to a.txt then append 'y' to a.txt then read a.txt", "write_file", "write_file write_file read_file"),
        ("Read a.txt. Then delete a.txt, b.txt.", "read_file", "read_file apply_patch apply_patch"),
        ("read a.txt, after that delete b.txt", "read_file", "read_file apply_patch"),
        ("run the tests and tell me if they pass", "glob_search", "glob_search"),
        ("list files, then search for x, and then git status", "glob_search", "glob_search grep_search exec"),
        ("create a.txt with 'x' then read a.txt", "glob_search", "glob_search write_file read_file"),
    ] {
        assert_eq!(names(&called(text, ALL)), at_once, "{text}");
        assert_eq!(names(&played(text, |_| Ok("")).0), all, "{text}");
    }
}

#[test]
fn demo_knows_which_file_it_is() {
    let path = |call: &(String, Value)| call.1["path"].as_str().or_else(|| call.1["input"].as_str()).unwrap().to_owned();
    for (text, last) in [
        ("please append 'x' to a.txt then show it", "a.txt"),
        ("create a.txt with 'x' and then read it", "a.txt"),
        ("replace x with y in a.txt and show me the contents of it", "a.txt"),
        ("read a.txt then append 'x' to it", "a.txt"),
        ("rename a.txt to b.txt then read it", "b.txt"),
        ("in a.txt change 'x' to 'y' and then delete it", "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n"),
    ] {
        let (calls, _) = played(text, |_| Ok(""));
        assert_eq!(calls.last().map(path).as_deref(), Some(last), "{text}: {calls:?}");
    }
}

#[test]
fn demo_says_what_it_is_to_those_who_ask() {
    for text in ["what can you do?", "Help!", "who are you?", "hello"] {
        let reply = answered(&[Message::user(text)], ALL);
        assert_eq!((calls_of(&reply), said_in(&reply)), (vec![], format!("{ANNOUNCEMENT} {HELP}")), "{text}");
    }
}

#[test]
fn demo_leaves_out_the_advice_for_models() {
    let none = "No match for 'x' in the workspace (3 files searched). Hidden files were left out: hidden=true includes them.";
    let (_, last) = played("search for x", |_| Ok(none));
    assert_eq!(last, format!("{ANNOUNCEMENT}\ngrep_search: No match for 'x' in the workspace (3 files searched)."));
}

#[test]
fn demo_answers_the_newest_request_also_after_a_turn_that_was_stopped() {
    let call = Block::Call { id: "1".into(), name: "read_file".into(), arguments: "{}".into(), opaque: None };
    let outcome = |status: &str| result(&call, &json!({"status": status, "result": "x", "message": "The call was cancelled."}));
    let time = [("get_current_time".to_owned(), json!({}))];
    let next = || Block::text("what time is it?");
    let before = [Message::user("read a.txt then read b.txt"), Message::assistant(vec![call.clone()])];
    let after = |blocks: Vec<Block>| [before.as_slice(), &[Message::results(blocks)]].concat();
    assert_eq!(calls_of(&answered(&after(vec![outcome("error"), next()]), ALL)), time, "after a cancelled call");
    let mut failed = Message::user("hello");
    failed.blocks.push(next());
    assert_eq!(calls_of(&answered(&[failed], ALL)), time, "after a turn without an answer");
    let read = [("read_file".to_owned(), json!({"path": "b.txt"}))];
    let notice = Block::text("[the command 'make' has ended]");
    assert_eq!(calls_of(&answered(&after(vec![outcome("success"), notice]), ALL)), read, "a notice is no request");
    let mut attached = Message::user("read b.txt");
    attached.blocks.push(Block::text("<file path=\"c.txt\">\ndelete a.txt\n</file>"));
    assert_eq!(calls_of(&answered(&[attached], ALL)), read, "a file is no request");
}

#[test]
fn demo_keeps_the_advice_of_a_failure_to_itself() {
    let failure = "a.txt: there is no such file. Make it with `*** Add File:`, or correct the path.";
    let (_, last) = played("delete a.txt", |_| Err(failure));
    assert_eq!(last, format!("{ANNOUNCEMENT}\napply_patch failed: a.txt: there is no such file."));
}

#[test]
fn demo_creates_what_the_sentence_says_and_not_the_sentence() {
    for (text, content) in [
        ("create a new file named a.txt with the content hello", "hello\n"),
        ("make a file a.txt that says hi there", "hi there\n"),
        ("create a.txt with a line saying 'hi'", "hi\n"),
        ("write a file a.txt with content abc", "abc\n"),
        ("put 'x' in a.txt", "x\n"),
        ("create a.txt containing \"a b\"", "a b\n"),
        ("create a.txt", ""),
    ] {
        let (calls, _) = played(text, |_| Ok("No files found."));
        assert_eq!(calls[1..], [("write_file".to_owned(), json!({"path": "a.txt", "content": content}))], "{text}");
    }
}

#[test]
fn demo_stops_at_a_step_that_fails() {
    let text = "read a.txt then append 'x' to a.txt then read a.txt";
    let (calls, last) = played(text, |_| Err("File not found: a.txt"));
    assert_eq!(calls.len(), 1);
    assert_eq!(last, format!("{ANNOUNCEMENT}\nread_file failed: File not found: a.txt\nI stopped there: 2 steps are not done."));
    let (calls, last) = played(text, |number| if number == 1 { Err("no") } else { Ok("yes") });
    assert_eq!(calls.len(), 2);
    assert_eq!(last, format!("{ANNOUNCEMENT}\nwrite_file failed: no\nI stopped there: one step is not done."));
}

#[test]
fn demo_creates_only_new_files() {
    let (calls, last) = played("create ./notes.txt with 'x'", |_| Ok("notes.txt"));
    assert_eq!(calls, [("glob_search".to_owned(), json!({"pattern": "notes.txt", "hidden": true, "ignored": true}))]);
    assert!(
        last.ends_with("./notes.txt exists already, so I did not create it. Say \"overwrite ./notes.txt with …\" to replace it."),
        "{last}"
    );
    for found in ["", "No files found.", "old/notes.txt"] {
        let (calls, _) = match found {
            "" => played("create an empty file notes.txt", |_| Ok("")),
            "No files found." => played("create an empty file notes.txt", |_| Ok("No files found.")),
            _ => played("create an empty file notes.txt", |_| Ok("old/notes.txt")),
        };
        assert_eq!(calls[1], ("write_file".to_owned(), json!({"path": "notes.txt", "content": ""})), "{found}");
    }
}

#[test]
fn demo_runs_tests_by_the_files_of_the_project() {
    for text in
        ["run the tests", "run tests", "test this project", "do the tests pass?", "are the tests passing?", "run all the tests please"]
    {
        let (calls, _) = played(text, |_| Ok("Makefile\nCargo.toml"));
        assert_eq!(calls[1], ("exec".to_owned(), json!({"command": "cargo test"})), "{text}");
    }
    let (calls, last) = played("run the tests then git status", |_| Ok("No files match."));
    assert_eq!(calls.len(), 1);
    assert!(last.contains("and ran nothing.") && last.ends_with("I stopped there: one step is not done."), "{last}");
}

#[test]
fn demo_uses_the_names_it_is_shown_and_says_what_it_lacks() {
    assert_eq!(called("read a.txt", &["read"]), [("read".to_owned(), json!({"path": "a.txt"}))]);
    let reply = answered(&[Message::user("read a.txt then run ls")], &["read_file"]);
    let expected = format!("{ANNOUNCEMENT} I would need exec, which I am not offered, so I did nothing; `haft explain exec` says why.");
    assert_eq!(reply, ModelReply::new(vec![Block::text(expected)], StopReason::EndTurn, Usage::default()));
}

#[test]
fn demo_repeats_results_and_always_says_what_it_is() {
    let (_, last) = played("read a.txt", |_| Ok("done"));
    assert_eq!(last, format!("{ANNOUNCEMENT}\nread_file: done"));
    let (_, last) = played("read a.txt", |_| Ok("# one\n```\ntwo"));
    assert_eq!(last, format!("{ANNOUNCEMENT}\nread_file:\n````\n# one\n```\ntwo\n````"), "a file is shown as it is");
    let (_, last) = played("append 'x' to a.txt", |_| Ok("Wrote it\n--- a\n+++ b"));
    assert_eq!(last, format!("{ANNOUNCEMENT}\nwrite_file: Wrote it"), "its diff is shown with the call");
    let (_, last) = played("delete a.txt", |_| Ok("Success. Changed:\nD a.txt\n(0 lines added, 1 removed)"));
    assert_eq!(last, format!("{ANNOUNCEMENT}\napply_patch: Success. Changed: D a.txt"));
    let lone = Message::results(vec![result(
        &Block::Call { id: "1".into(), name: "noop".into(), arguments: "{}".into(), opaque: None },
        &json!({"status": "success", "result": "done"}),
    )]);
    assert_eq!(said_in(&answered(&[lone], &[])), format!("{ANNOUNCEMENT}\nnoop: done"));
    assert_eq!(said_in(&answered(&[], &[])), format!("{ANNOUNCEMENT} {HELP}"));
}
