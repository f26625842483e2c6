//! Sub-agents, from the request of a model to what is stored of them, with the real program.

use haft_testkit::{Hold, ModelServer, Moment, Round};
use serde_json::{Value, json};

use super::family::{asks, background, call, children, explorer, family, result, states, text, transcript};
use super::harness::World;
use super::model::{Talk, in_every_protocol};

/// Whether a call of a sub-agent was made with success.
fn child_outcomes(talk: &Talk) -> Vec<(String, String)> {
    talk.history().into_iter().filter(|(tool, _)| tool != "agent").collect()
}

#[test]
fn parent_steers_one_explorer_and_kills_the_other_in_every_protocol() {
    in_every_protocol(|protocol| {
        let (read, steered) = (Hold::default(), Hold::default());
        let never = Hold::default();
        let talk = family(
            protocol,
            "",
            vec![
                (
                    "PARENT",
                    vec![
                        Round::Calls(vec![
                            call("p1", "agent", background("Look at alpha.", "explore")),
                            call("p2", "agent", background("Look at beta.", "Explore")),
                        ]),
                        Round::Calls(vec![
                            call(
                                "p3",
                                "subagents",
                                json!({"action": "steer", "target": "Look at alpha.", "message": "Also count the lines."}),
                            ),
                            call("p4", "subagents", json!({"action": "kill", "target": "2"})),
                        ]),
                        text("I wait.").held(Moment::Start, &steered),
                        text("Both are over."),
                    ],
                ),
                (
                    "alpha",
                    vec![
                        Round::call("a1", "read_file", json!({"path": "alpha.txt"})).held(Moment::Start, &read),
                        text("alpha has 2 lines."),
                    ],
                ),
                ("beta", vec![text("never said").held(Moment::Start, &never)]),
            ],
        );
        talk.world.write("alpha.txt", "one\ntwo\n");
        let turn = talk.begin(&["PARENT: look at both"]);
        assert!(steered.reached() && read.reached());
        read.release();
        steered.release();
        let happened = turn.finish(&talk.world);
        assert_eq!(happened.ended(), ("done", "Both are over."), "{protocol}: {happened:?}");
        assert_eq!(talk.faults(), Vec::<String>::new(), "{protocol}");
        assert_eq!(states(&talk), ["Look at alpha. done", "Look at beta. killed"]);
        let all = children(&talk);
        let ids: Vec<&str> = all.iter().map(|session| session["id"].as_str().unwrap()).collect();
        let steady =
            |lines: Vec<String>| lines.into_iter().map(|line| line.replace(ids[0], "ALPHA").replace(ids[1], "BETA")).collect::<Vec<_>>();
        let started = |label: &str, id: &str| {
            format!(
                "results: result agent success: The sub-agent '{label}' (explore) has been started, in session {id}. Its answer comes to you as a \
                 message when it is done: do not poll for it. subagents with action=steer or kill reaches it meanwhile."
            )
        };
        let parent = steady(transcript(&talk, "last"));
        let (calls, rest): (Vec<String>, Vec<String>) = parent.into_iter().partition(|line| line.starts_with("assistant: call"));
        assert_eq!(calls.len(), 4, "{protocol}: {calls:?}");
        let expected = [
            "user: PARENT: look at both".to_owned(),
            started("Look at alpha.", "ALPHA"),
            started("Look at beta.", "BETA"),
            "results: result subagents success: The sub-agent 'Look at alpha.' reads the message with its next results.".to_owned(),
            "results: result subagents success: Ended 1: 'Look at beta.' (killed).".to_owned(),
            "assistant: I wait.".to_owned(),
            "user: [sub-agent 'Look at alpha.' (explore) is done. Session ALPHA, 1 calls. Its answer:\nalpha has 2 lines.]".to_owned(),
            "assistant: Both are over.".to_owned(),
        ];
        assert_eq!(rest, expected, "{protocol}");
        let alpha = transcript(&talk, ids[0]);
        assert_eq!(alpha[0], "user: Look at alpha.");
        assert!(alpha[1].starts_with("assistant: call read_file"), "{alpha:?}");
        assert!(alpha[2].starts_with("results: result read_file success: "), "{alpha:?}");
        assert_eq!(alpha[3..], ["results: Also count the lines.", "assistant: alpha has 2 lines."], "{protocol}");
        assert_eq!(transcript(&talk, ids[1]), ["user: Look at beta."], "{protocol}");
    });
}

/// Complaint: results that never come back (claw 1.11: the parent never receives the result).
#[test]
fn answer_comes_back_with_what_it_took_and_its_transcript_can_be_opened() {
    let child = vec![Round::call("c1", "read_file", json!({"path": "a.txt"})), text("It says axe.")];
    let talk = family("openai", "", vec![("PARENT", asks(explorer("Read a.txt."))), ("Read a.txt.", child)]);
    talk.world.write("a.txt", "axe\n");
    let happened = talk.turn(&["PARENT"]);
    let said = result(&happened);
    let id = children(&talk)[0]["id"].as_str().unwrap().to_owned();
    assert!(said.starts_with("[sub-agent 'Read a.txt.' (explore) is done: 2 rounds, 1 calls, "), "{said}");
    assert!(said.ends_with(&format!("; session {id}]\n\nIt says axe.")), "{said}");
    let shown = talk.world.run(&["sessions", "show", &id]);
    assert!(shown.stdout.contains("It says axe."), "{shown:?}");
    assert_eq!(talk.world.run(&["sessions", "list", "--json"]).json().as_array().unwrap().len(), 1, "sub-agents are listed on request");
}

/// Complaint: results cut at 4,000 characters without a word (claude-code 90544, 25569).
#[test]
fn long_answer_is_whole_and_a_huge_one_is_a_page_with_a_spill() {
    for (length, is_whole) in [(20_000, true), (400_000, false)] {
        let answer = format!("{}END", "word ".repeat(length / 5));
        let talk = family("openai", "", vec![("PARENT", asks(explorer("Tell all."))), ("Tell all.", vec![text(&answer)])]);
        let said = result(&talk.turn(&["PARENT"]));
        assert_eq!(said.contains(&answer), is_whole);
        if !is_whole {
            let spill = said
                .rsplit_once("All of it is in '")
                .unwrap()
                .1
                .split_once('\'')
                .unwrap()
                .0
                .replace("[world]", &talk.world.path("").display().to_string());
            assert!(std::fs::read_to_string(spill).unwrap().ends_with("END"));
        }
    }
}

/// Complaint: limits that are not inherited (claude-code 31689).
#[test]
fn rounds_and_budget_of_the_parent_hold_for_its_sub_agent() {
    let reads = |count: usize| -> Vec<Round> {
        (0..count).map(|number| Round::call(&format!("c{number}"), "glob_search", json!({"pattern": format!("{number}*")}))).collect()
    };
    let talk = family("openai", "", vec![("PARENT", asks(explorer("Search."))), ("Search.", reads(9))]);
    let happened = talk.turn(&["PARENT", "--max-rounds", "3"]);
    assert_eq!(happened.outcomes(), ["execution_error"]);
    assert!(result(&happened).contains("it used all of its 3 rounds"), "{}", result(&happened));
    assert_eq!(states(&talk), ["Search. failed"]);

    let talk =
        family("openai", "[budget]\ntokens = 40\nthen = \"stop\"\n", vec![("PARENT", asks(explorer("Search."))), ("Search.", reads(9))]);
    let happened = talk.turn(&["PARENT"]);
    assert!(result(&happened).contains("The budget is used up"), "{}", result(&happened));
    assert_eq!(happened.ended().0, "budget", "what the sub-agent used is used for its parent, too");
}

/// Complaint: permissions that are too loose (claude-code 4740, 4801; openclaw 18075, 62887: deny not enforced).
#[test]
fn tools_outside_of_a_type_and_denied_tools_do_not_run() {
    let writes = || vec![Round::call("c1", "write_file", json!({"path": "made.txt", "content": "x"})), text("Tried.")];
    let request = |kind: &str| json!({"prompt": "Write it.", "subagent_type": kind});
    for (config, kind) in [
        ("", "explore"),
        ("", "plan"),
        ("", "verification"),
        ("[subagents.tools]\ndeny = [\"write_file\"]\n", "general-purpose"),
        ("[tools]\ndeny = [\"write_file\"]\n", "general-purpose"),
        ("[rules]\ndeny = [\"write(made.txt)\"]\n", "general-purpose"),
        ("[rules]\nonly = [\"write(docs/**)\"]\n", "general-purpose"),
    ] {
        let talk = family("openai", config, vec![("PARENT", asks(request(kind))), ("Write it.", writes())]);
        let happened = talk.turn(&["PARENT"]);
        assert!(!talk.world.file("made.txt").exists(), "{config} {kind}: {happened:?}");
        assert_eq!(happened.outcomes(), ["success"], "the sub-agent itself continues: {happened:?}");
    }
    let talk = family("openai", "", vec![("PARENT", asks(request("general-purpose"))), ("Write it.", writes())]);
    talk.turn(&["PARENT"]);
    assert_eq!(talk.world.read("made.txt"), "x", "and without all that it is written");
}

/// Complaint: permissions that are too strict (claude-code 22665, 14714: allow list not inherited; openclaw 92189, 64292: no tools left).
#[test]
fn what_the_parent_may_do_its_sub_agent_may_do_too() {
    let config = "ask = \"changes\"\n[tools]\nprofile = \"coding\"\n[rules]\nallow = [\"write(made.txt)\", \"agent(general-purpose)\"]\n";
    let writes = vec![
        Round::Calls(vec![
            call("c1", "write_file", json!({"path": "made.txt", "content": "x"})),
            call("c2", "write_file", json!({"path": "other.txt", "content": "x"})),
        ]),
        text("Tried."),
    ];
    let talk = Talk {
        protocol: "openai",
        world: World::new(),
        server: ModelServer::for_conversations(vec![("PARENT", asks(json!({"prompt": "Write it."}))), ("Write it.", writes)]).unwrap(),
    };
    // Keys of the top level stand before the tables of the provider.
    let url = talk.server.url();
    talk.world.configure(&format!(
        "model = \"work/m1\"\n{config}[providers.work]\nprotocol = \"openai\"\nbase_url = \"{url}\"\napi_key_env = \"WORK_KEY\"\n"
    ));
    talk.turn(&["PARENT"]);
    assert!(talk.world.file("made.txt").exists(), "a rule of the user allows it");
    assert!(!talk.world.file("other.txt").exists(), "nobody is there to approve it");
    let offered = talk.server.asked().iter().find(|asked| !asked.body.to_string().contains("PARENT")).unwrap().body["tools"].to_string();
    for tool in ["read_file", "write_file", "exec", "grep_search"] {
        assert!(offered.contains(&format!("\"{tool}\"")), "{tool}: {offered}");
    }
    assert!(!offered.contains("\"agent\"") && !offered.contains("\"sessions_spawn\""), "a leaf starts no others: {offered}");
}

/// A child never gets more than its parent: by effect on disk.
#[test]
fn no_way_of_asking_gives_a_sub_agent_more_than_its_parent() {
    let strong = "[agents.strong]\naccess = \"full-access\"\n[agents.strong.tools]\nalso_allow = [\"write_file\"]\n[agents.strong.rules]\nallow = [\"write(**)\"]\n";
    let of_main = |rules: &str| format!("{strong}[agents.main.rules]\n{rules}\n");
    let spawn = json!({"task": "Write it.", "agent_id": "strong"});
    for (config, words, tool, arguments) in [
        (strong.to_owned(), &["--access", "read-only"][..], "agent", json!({"prompt": "Write it."})),
        (strong.to_owned(), &["--access", "read-only"], "agent", json!({"prompt": "Write it.", "subagent_type": "mighty"})),
        (strong.to_owned(), &["--access", "read-only"], "sessions_spawn", spawn.clone()),
        (of_main("deny = [\"write(**)\"]"), &[], "sessions_spawn", spawn.clone()),
        (of_main("only = [\"write(docs/**)\"]"), &[], "sessions_spawn", spawn.clone()),
        (format!("{strong}[agents.main.tools]\ndeny = [\"write_file\"]\n"), &[], "sessions_spawn", spawn),
        (
            format!("{strong}[agents.main.tools]\ndeny = [\"write_file\"]\n"),
            &[],
            "agent",
            json!({"prompt": "Write it.", "subagent_type": "mighty"}),
        ),
    ] {
        let child = vec![Round::call("c1", "write_file", json!({"path": "made.txt", "content": "x"})), text("Tried.")];
        let parent = vec![Round::call("p1", tool, arguments), text("Started."), text("Over.")];
        let talk = family("openai", &config, vec![("PARENT", parent), ("Write it.", child)]);
        let types = talk.world.path("config/haft/agents");
        std::fs::create_dir_all(&types).unwrap();
        let mighty = "---\nname: mighty\ndescription: Does all\ntools: write_file, exec\naccess: full-access\n---\nDo all.\n";
        std::fs::write(types.join("mighty.md"), mighty).unwrap();
        let happened = talk.turn(&[&["PARENT"], words].concat());
        assert_eq!(happened.outcomes(), ["success"], "it is started: {config} {happened:?}");
        assert!(child_outcomes(&talk).iter().any(|(tool, _)| tool == "write_file"), "it tried: {config} {:?}", talk.history());
        assert!(!talk.world.file("made.txt").exists(), "{config} {happened:?}");
    }
}

/// Complaint: timeouts and lost announcements (openclaw 41155, 68265), hard kills with clear states (24219), time per call (114187).
#[test]
fn time_is_bounded_by_call_and_the_end_is_announced_and_found_by_id() {
    let never = Hold::default();
    let parent = vec![
        Round::call("p1", "sessions_spawn", json!({"task": "Wait for ever.", "label": "slow", "run_timeout_seconds": 1})),
        text("I wait."),
        Round::call("p2", "subagents", json!({"action": "result", "target": "slow"})),
        text("It timed out."),
    ];
    let talk = family("openai", "", vec![("PARENT", parent), ("Wait for ever.", vec![text("never").held(Moment::Start, &never)])]);
    let happened = talk.turn(&["PARENT"]);
    assert_eq!(happened.ended(), ("done", "It timed out."));
    assert_eq!(states(&talk), ["slow timed_out"]);
    let parent = transcript(&talk, "last").join("\n");
    assert!(parent.contains("user: [sub-agent 'slow' (general-purpose) has timed out: it took longer than 1 seconds."), "{parent}");
    assert_eq!(happened.outcomes(), ["success", "timeout"], "by its id, the same");
}

/// Seed 004's limits; a sub-agent that starts others in a loop meets them.
#[test]
fn depth_children_and_loops_are_bounded() {
    let never = Hold::default();
    let spawns: Vec<_> =
        (0..7).map(|number| call(&format!("p{number}"), "sessions_spawn", json!({"task": format!("Task {number}.")}))).collect();
    let parent = vec![Round::Calls(spawns), Round::call("k", "subagents", json!({"action": "kill", "target": "all"})), text("Enough.")];
    let never_said: Vec<Round> = (0..7).map(|_| text("never").held(Moment::Start, &never)).collect();
    let talk = family("openai", "", vec![("PARENT", parent), ("Task", never_said)]);
    let happened = talk.turn(&["PARENT"]);
    let refused = happened.outcomes().iter().filter(|outcome| **outcome == "validation_error").count();
    assert_eq!((happened.ended().1, refused), ("Enough.", 2), "{happened:?}");
    assert_eq!(states(&talk).iter().filter(|state| state.ends_with("killed")).count(), 5);

    // Depth 2 is allowed, and everyone wants to go deeper.
    let deeper = || vec![Round::call("d", "agent", json!({"prompt": "Go deeper."})), text("I am back.")];
    let config = "[subagents]\nmax_depth = 2\n";
    let rounds: Vec<Round> = (0..3).flat_map(|_| deeper()).collect();
    let talk = family(
        "openai",
        config,
        vec![
            ("PARENT", asks(json!({"prompt": "Go deeper."}))),
            ("deeper", vec![rounds[0].clone(), rounds[0].clone(), text("deepest"), text("middle")]),
        ],
    );
    let happened = talk.turn(&["PARENT"]);
    assert_eq!(happened.ended().0, "done", "{happened:?}");
    assert_eq!(children(&talk).len(), 2, "{:?}", states(&talk));
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    let once = vec![text("One."), text("Two.")];
    let parent = vec![
        Round::Calls(vec![
            call("b1", "agent", json!({"prompt": "CHILD", "subagent_type": "explorre"})),
            call("b2", "sessions_spawn", json!({"task": "CHILD", "agent_id": "nobody"})),
            call("b3", "agent", json!({"prompt": "  "})),
            call("b4", "agent", json!({"prompt": "CHILD", "model": "nope"})),
            call("b5", "subagents", json!({"action": "steer", "target": "nope", "message": "x"})),
            call("b6", "sessions_history", json!({"session": "nope-nope"})),
            call("b7", "sessions_send", json!({"message": "x"})),
            call("b8", "sessions_send", json!({"message": "x", "session": "a", "label": "b"})),
            call("b9", "subagents", json!({"action": "steer", "target": "nope"})),
        ]),
        Round::Calls(vec![
            call("g1", "agent", json!({"prompt": "CHILD one", "name": "twin"})),
            call("g2", "agent", json!({"prompt": "CHILD two", "name": "twin"})),
        ]),
        Round::Calls(vec![
            call("t1", "subagents", json!({"action": "result", "target": "twin"})),
            call("t2", "subagents", json!({"action": "steer", "target": "1", "message": "more"})),
            call("t3", "sessions_send", json!({"label": "twin", "message": "more"})),
            call("t4", "subagents", json!({"action": "kill", "target": "1"})),
        ]),
        text("Over."),
    ];
    let talk = family("openai", "", vec![("PARENT", parent), ("CHILD", once)]);
    let happened = talk.turn(&["PARENT"]);
    let messages: Vec<String> =
        happened.of("tool_end").filter_map(|end| end.get("message")).map(|message| message.as_str().unwrap().to_owned()).collect();
    let all = messages.join("\n");
    for expected in [
        "There is no agent type 'explorre'. Did you mean 'explore'?",
        "There is no agent 'nobody' in the configuration.",
        "The task is empty.",
        "'nope' is not a model",
        "There is no sub-agent 'nope' of this conversation.",
        "There is no session 'nope-nope' that this conversation sees.",
        "The recipient is missing.",
        "Both 'session' and 'label' are given.",
        "Parameter 'message' is needed for 'steer'",
        "'twin' means 2 sub-agents",
        "has ended (done), so nobody reads the message",
        "2 sub-agents are labelled 'twin'",
    ] {
        assert!(all.contains(expected), "{expected}\n{all}");
    }
}

#[test]
fn three_running_children_of_a_killed_parent_have_failed_and_can_be_resumed() {
    let holds: Vec<Hold> = (0..3).map(|_| Hold::default()).collect();
    let last = Hold::default();
    let spawns: Vec<_> =
        (0..3).map(|number| call(&format!("p{number}"), "sessions_spawn", json!({"task": format!("Task {number}.")}))).collect();
    let mut conversations = vec![("PARENT", vec![Round::Calls(spawns), text("waiting").held(Moment::Start, &last)])];
    for (name, hold) in ["Task 0.", "Task 1.", "Task 2."].into_iter().zip(&holds) {
        let id = format!("c{name}").replace(['.', ' '], "");
        conversations.push((name, vec![Round::call(&id, "noop", json!({})), text("never").held(Moment::Start, hold)]));
    }
    let talk = family("openai", "", conversations);
    let turn = talk.begin(&["PARENT"]);
    assert!(last.reached() && holds.iter().all(Hold::reached));
    turn.kill();
    assert_eq!(states(&talk), ["Task 0. failed", "Task 1. failed", "Task 2. failed"]);
    let all = children(&talk);
    assert!(all.iter().all(|session| session["sub_agent"]["error"] == "interrupted: the process that ran it has ended"), "{all:?}");

    // Each can be continued by its id, and the parent is told what became of them.
    let id = all[1]["id"].as_str().unwrap().to_owned();
    let parent = talk.world.run(&["sessions", "list", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let talk = talk.next(vec![text("Finished after all."), text("I know.")]);
    let resumed = talk.turn(&["continue", "--session", &id]);
    assert_eq!(resumed.ended(), ("done", "Finished after all."));
    let resumed = talk.turn(&["what now?", "--session", &parent]);
    assert_eq!(resumed.ended(), ("done", "I know."));
    let told = talk.server.asked().last().unwrap().body.to_string();
    assert_eq!(told.matches("has failed: interrupted: the process that ran it has ended").count(), 2, "{told}");
    assert!(told.contains("'Task 1.' (general-purpose) is done.") && told.contains("Finished after all."), "{told}");
    assert_eq!(states(&talk), ["Task 0. failed", "Task 1. done", "Task 2. failed"]);
}

#[test]
fn history_of_another_conversation_is_bounded_redacted_and_visible_as_configured() {
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijk-abcdefgAA";
    let child = vec![text(&format!("The key is {secret} and {}", "long ".repeat(2000)))];
    let parent = vec![
        Round::call("p1", "agent", json!({"prompt": "Find the key.", "name": "finder"})),
        Round::Calls(vec![
            call("h1", "sessions_history", json!({"session": "finder"})),
            call("h2", "sessions_list", json!({"kinds": ["subagent"]})),
            call("h3", "session_status", json!({})),
            call("h4", "agents_list", json!({})),
        ]),
        text("Read."),
    ];
    let talk = family("openai", "", vec![("PARENT", parent), ("Find the key.", child)]);
    let happened = talk.turn(&["PARENT"]);
    let said: Vec<String> = happened.of("tool_end").map(|end| end["result"].as_str().unwrap_or_default().to_owned()).collect();
    let all = said.join("\n");
    assert!(!all.contains(secret), "{all}");
    assert!(all.contains("user: Find the key.") && all.contains("[cut: "), "{all}");
    assert!(all.contains("subagent, done, agent main"), "{all}");
    assert!(all.contains("Access: workspace-write") && all.contains("Model: "), "{all}");
    assert!(all.contains("- explore: ") && all.contains("- main (you)"), "{all}");

    for (visibility, outcome) in [("tree", "permission_denied"), ("self", "permission_denied"), ("agent", "success"), ("all", "success")] {
        assert_eq!(visible(visibility), outcome, "{visibility}");
    }
}

/// The outcome of reading an older session of the same folder.
fn visible(visibility: &str) -> String {
    let older = Talk::new("openai", vec![text("Hello.")]);
    older.turn(&["an older conversation"]);
    let id = older.world.run(&["sessions", "list", "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    let newer = Talk {
        server: ModelServer::start(vec![Round::call("v", "sessions_history", json!({"session": id})), text("Seen.")]).unwrap(),
        ..older
    };
    newer.configure(&format!("[sessions]\nvisibility = \"{visibility}\"\n"));
    newer.turn(&["read it"]).outcomes()[0].to_owned()
}

#[test]
fn type_of_a_file_is_offered_with_its_tools_and_explained() {
    let talk = family(
        "openai",
        "",
        vec![("PARENT", asks(json!({"prompt": "Review it.", "subagent_type": "critic"}))), ("Review it.", vec![text("Fine.")])],
    );
    let types = talk.world.path("config/haft/agents");
    std::fs::create_dir_all(&types).unwrap();
    std::fs::write(types.join("critic.md"), "---\ndescription: Reviews code\ntools: read_file, grep_search\n---\nBe strict.\n").unwrap();
    std::fs::write(types.join("broken.md"), "no front matter").unwrap();
    let happened = talk.turn(&["PARENT"]);
    assert_eq!(happened.outcomes(), ["success"], "{happened:?}");
    assert!(happened.stderr.contains("broken.md: this agent type is left out: it has no description"), "{happened:?}");
    let asked = talk.server.asked();
    let body = &asked.iter().find(|asked| !asked.body.to_string().contains("PARENT")).unwrap().body;
    assert!(body.to_string().contains("Be strict."), "{body}");
    let tools: Vec<&str> = body["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["read_file", "grep_search"]);
    let verdict = |words: &[&str]| {
        talk.world.run(&[&["explain", "write_file", "--json"], words].concat()).json()["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict(&[]), "allow");
    assert_eq!(verdict(&["--as-subagent"]), "allow");
    assert_eq!(verdict(&["--as-subagent=critic"]), "deny");
    assert_eq!(verdict(&["--as-subagent=explore"]), "deny");
    let unknown = talk.world.run(&["explain", "write_file", "--as-subagent=nobody"]);
    assert!(unknown.stderr.contains("There is no agent type 'nobody'"), "{unknown:?}");
}

#[test]
fn interrupted_parent_ends_its_children_with_a_truthful_state() {
    let (never, waiting) = (Hold::default(), Hold::default());
    let parent = vec![Round::call("p1", "sessions_spawn", json!({"task": "Work on."})), text("waiting").held(Moment::Start, &waiting)];
    let talk = family("openai", "", vec![("PARENT", parent), ("Work on.", vec![text("never").held(Moment::Start, &never)])]);
    let turn = talk.begin(&["PARENT"]);
    assert!(never.reached() && waiting.reached());
    rustix::process::kill_process(rustix::process::Pid::from_raw(turn.child.id().cast_signed()).unwrap(), rustix::process::Signal::INT)
        .unwrap();
    let happened = turn.finish(&talk.world);
    assert_eq!(happened.ended().0, "cancelled");
    assert_eq!(states(&talk), ["Work on. killed"]);
}

#[test]
fn plain_calls_get_a_conversation_and_wait_for_what_they_started() {
    let child = || vec![Round::call("c1", "read_file", json!({"path": "a.txt"})), text("It says axe.")];
    let talk = family("openai", "", vec![("Read a.txt.", [child(), child()].concat())]);
    talk.world.write("a.txt", "axe\n");
    let called = |tool: &str, arguments: Value| talk.world.ran(&talk.command(&["call", tool, &arguments.to_string()]).output().unwrap());
    let ran = called("agent", explorer("Read a.txt."));
    assert!(ran.code == 0 && ran.stdout.ends_with("It says axe.\n"), "{ran:?}");
    let ran = called("sessions_spawn", json!({"task": "Read a.txt.", "label": "reader"}));
    assert!(ran.code == 0 && ran.stdout.ends_with("reader (done):\nIt says axe.\n"), "{ran:?}");
    assert_eq!(states(&talk), ["Read a.txt. done", "reader done"]);
    let ran = called("session_status", json!({}));
    assert!(ran.code == 0 && ran.stdout.contains("Model: work/m1"), "{ran:?}");
    assert_eq!(
        talk.world.run(&["sessions", "list", "--json"]).json().as_array().unwrap().len(),
        2,
        "a call that started nothing leaves nothing"
    );
}
