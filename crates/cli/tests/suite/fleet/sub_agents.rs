//! Sub-agents of turns on workers: they run where the turn does that starts them.

use haft_testkit::{ModelServer, Round};
use serde_json::json;

use super::{Fleet, is_end, wait_until_idle};

#[test]
fn sub_agent_that_needs_another_worker_is_refused_and_says_so() {
    let fleet = Fleet::new();
    for (labels, is_refused) in [(&[][..], true), (&["--labels", "gpu"][..], false)] {
        let spawn = Round::call("p1", "sessions_spawn", json!({ "task": "CHILD", "agent_id": "artist" }));
        let parent = vec![spawn, Round::Text("Over.".to_owned()), Round::Text("Over.".to_owned())];
        let child = vec![Round::call("c1", "write_file", json!({ "path": "made.txt", "content": "x" })), Round::Text("Made.".to_owned())];
        let model = ModelServer::for_conversations(vec![("PARENT", parent), ("CHILD", child)]).unwrap();
        let provider = format!("model = \"work/m1\"\n[providers.work]\nprotocol = \"openai\"\nbase_url = \"{}\"\n", model.url());
        // The label is one of the server's configuration.
        let [server, worker] = ["label = \"gpu\"", "folder = \"shared\""].map(|line| format!("{provider}[agents.artist.worker]\n{line}\n"));
        let (one, machine) = (fleet.machine(&server), fleet.machine(&worker));
        let gateway = fleet.server(&one);
        let _worker = fleet.worker(&machine, labels);
        let page = gateway.page();
        let session = page.create();
        let events = page.turn(&session, "PARENT");
        assert!(events.iter().any(|(name, data)| is_end(name, data) && data["item"]["reason"] == "done"), "{events:?}");
        let items = wait_until_idle(&page, &session)["items"].to_string();
        assert_eq!(items.contains("the agent 'artist' needs a worker with the label 'gpu'"), is_refused, "{items}");
        assert_eq!(fleet.shared.file("made.txt").exists(), !is_refused, "{items}");
    }
}
