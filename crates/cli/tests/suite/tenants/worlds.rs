//! Two tenants of one server. Everything of the first has the canary in it.

use std::io::Read;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::suite::gateway::{HttpAnswer, PageClient, Served};
use crate::suite::harness::World;

/// In every content of the first tenant, and in nothing that the second one sends.
pub(in crate::suite) const CANARY: &str = "zebra7f3a9c";
/// Writes to one folder are asked about, and commands need no approval.
pub(in crate::suite) const CONFIG: &str = "[rules]\nask = [\"write(asked/**)\"]\n[exec]\nsecurity = \"full\"\n";
/// Nothing that a test waits for takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

pub(in crate::suite) struct TwoTenants {
    pub(in crate::suite) world: World,
    pub(in crate::suite) served: Served,
    /// A page of the first, with all scopes.
    pub(in crate::suite) alpha: PageClient,
    /// A page of the second, with all scopes.
    pub(in crate::suite) beta: PageClient,
    variables: Vec<(String, String)>,
}

/// A user of a tenant, invited by the operator.
pub(super) fn invite(world: &World, variables: &[(&str, &str)], words: &[&str]) -> Value {
    let ran = world.run_with(variables, &[&["tenants", "invite", "--json"], words].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

/// The secret of a link.
pub(super) fn link_token(invitation: &Value) -> &str {
    invitation["link"].as_str().unwrap().split_once("#token=").unwrap().1
}

impl TwoTenants {
    pub(super) fn start() -> Self {
        Self::start_with(&[], &[])
    }

    /// With these variables for the server and for the commands of the operator, and these words for the server.
    pub(in crate::suite) fn start_with(variables: &[(&str, &str)], words: &[&str]) -> Self {
        Self::start_with_config(CONFIG, variables, words)
    }

    /// With this configuration of the operator.
    pub(in crate::suite) fn start_with_config(config: &str, variables: &[(&str, &str)], words: &[&str]) -> Self {
        let world = World::with_config(config);
        for name in ["alpha", "beta"] {
            let added = world.run_with(variables, &["tenants", "add", name]);
            assert_eq!(added.code, 0, "{added:?}");
        }
        let served = Served::start_in(&world, variables, words);
        let page = |name: &str, user: &str| {
            let invitation = invite(&world, variables, &[name, user, "--scopes", "view,chat,approve,admin"]);
            PageClient::sign_in(&served.address, link_token(&invitation))
        };
        let (alpha, beta) = (page("alpha", "ann"), page("beta", "bob"));
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { world, served, alpha, beta, variables }
    }

    pub(super) fn invite(&self, words: &[&str]) -> Value {
        let variables: Vec<(&str, &str)> = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        invite(&self.world, &variables, words)
    }

    pub(in crate::suite) fn workspace(&self, name: &str) -> PathBuf {
        self.world.state().join("tenants").join(name).join("workspace")
    }

    /// Puts the canary into everything that the first tenant can have; returns what identifies it: ids and paths, without the canary.
    pub(super) fn plant(&self) -> Planted {
        let (alpha, folder) = (&self.alpha, self.workspace("alpha"));
        std::fs::write(folder.join("secret.txt"), format!("{CANARY} in a file\n")).unwrap();
        std::fs::write(folder.join(format!("{CANARY}.md")), CANARY).unwrap();
        let line = format!("{CANARY} {}\n", "x".repeat(90));
        std::fs::write(folder.join("large.txt"), line.repeat(3_000)).unwrap();
        let session = alpha.create();
        alpha.turn(&session, "read secret.txt");
        alpha.turn(&session, &format!("create made.txt with '{CANARY}'"));
        alpha.turn(&session, "run `cat large.txt`");
        alpha.send("PATCH", &format!("/api/sessions/{session}"), json!({ "title": CANARY }).to_string().as_bytes());
        let mut events = alpha.events("");
        let asks = format!("create asked/a.txt with '{CANARY}'");
        assert_eq!(alpha.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": asks })).status, 202);
        let (_, asked) = events.until(|name, _| name == "approval").pop().unwrap();
        let note = alpha.post("/api/memory", &json!({ "text": format!("remember {CANARY}") }));
        assert_eq!(note.status, 200, "{}", note.body);
        let job = json!({ "name": format!("job {CANARY}"), "prompt": CANARY, "schedule": "1h" });
        let job = alpha.post("/api/automation", &job);
        let tokens = alpha.post("/api/tokens", &json!({ "name": CANARY, "scopes": ["view"] }));
        assert_eq!(tokens.status, 201, "{}", tokens.body);
        let calls = alpha.read("/api/history")["calls"].as_array().unwrap().clone();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let spill = calls.iter().map(|call| text(&alpha.read(&format!("/api/history/{}", text(&call["record"])))["spill"]));
        let spill = spill.into_iter().find(|spill| !spill.is_empty());
        Planted {
            approval: asked["approval"].clone(),
            records: calls.iter().map(|call| text(&call["record"])).collect(),
            call_ids: calls.iter().map(|call| text(&call["id"])).collect(),
            spill: spill.unwrap_or_default(),
            job: text(&job.json()["id"]),
            sequence: events.id.unwrap_or_default(),
            session,
        }
    }
}

/// What identifies things of the first tenant.
pub(super) struct Planted {
    pub(super) session: String,
    pub(super) approval: Value,
    pub(super) records: Vec<String>,
    pub(super) call_ids: Vec<String>,
    pub(super) spill: String,
    pub(super) job: String,
    pub(super) sequence: u64,
}

impl Planted {
    /// Every id and path, none of which has the canary in it.
    pub(super) fn foreign(&self, two: &TwoTenants) -> Vec<String> {
        let folder = two.workspace("alpha");
        let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let text = |name: &str| self.approval[name].as_str().unwrap_or_default().to_owned();
        let paths = [path("secret.txt"), path("MEMORY.md"), path("."), "../../alpha/workspace/secret.txt".to_owned(), "alpha".to_owned()];
        let ids = [self.session.clone(), self.spill.clone(), self.job.clone(), text("id"), text("fingerprint"), text("call_id")];
        let mut all: Vec<String> =
            ids.into_iter().chain(self.records.first().cloned()).chain(self.call_ids.first().cloned()).chain(paths).collect();
        all.retain(|value| !value.is_empty());
        all
    }
}

/// A client whose every received byte is kept.
pub(super) struct Attacker {
    client: PageClient,
    pub(super) received: Arc<Mutex<Vec<u8>>>,
}

impl Attacker {
    pub(super) fn new(client: &PageClient) -> Self {
        Self { client: client.clone(), received: Arc::default() }
    }

    pub(super) fn send(&self, method: &str, path: &str, body: &Value) -> HttpAnswer {
        let body = if method == "GET" { Vec::new() } else { body.to_string().into_bytes() };
        let answer = self.client.send(method, path, &body);
        let mut received = self.received.lock().unwrap();
        received.extend_from_slice(format!("\n== {method} {path} {}\n", answer.status).as_bytes());
        received.extend_from_slice(answer.head.as_bytes());
        received.extend_from_slice(answer.body.as_bytes());
        answer
    }

    /// Reads the stream of events until it ends.
    pub(super) fn listen(&self, query: &str) -> std::thread::JoinHandle<()> {
        let mut stream = self.client.connect("GET", &format!("/api/events{query}"), b"");
        let received = Arc::clone(&self.received);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                received.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        })
    }

    /// Fails with what came before and after the canary.
    pub(super) fn assert_clean(&self) {
        let received = self.received.lock().unwrap();
        let text = String::from_utf8_lossy(&received);
        if let Some(at) = text.find(CANARY) {
            let begin = text[..at].rfind("\n== ").unwrap_or(0);
            panic!("the other tenant is visible: {}", &text[begin..(at + 200).min(text.len())]);
        }
        assert!(text.len() > 1_000, "something was received");
    }
}

/// The processes of tenants that a server has.
pub(super) fn processes_of(served: &Served) -> Vec<PathBuf> {
    processes_of_process(served.pid())
}

/// The processes that another one has started and that have not ended.
pub(in crate::suite) fn processes_of_process(parent: u32) -> Vec<PathBuf> {
    let parent = parent.to_string();
    let is_child = |path: &PathBuf| {
        let stat = std::fs::read_to_string(path.join("stat")).unwrap_or_default();
        let mut fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace()).into_iter().flatten();
        fields.next().is_some_and(|state| state != "Z") && fields.next() == Some(parent.as_str())
    };
    std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).filter(is_child).collect()
}

/// Waits until something holds.
pub(in crate::suite) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
