//! Every command with its state on a PostgreSQL server.

use haft_testkit::PostgresServer;
use serde_json::json;

use super::harness::{Ran, World};

/// A world whose state is on a server.
struct ServerWorld {
    world: World,
    server: PostgresServer,
    address: String,
}

impl ServerWorld {
    fn new() -> Self {
        let server = PostgresServer::start();
        let address = server.address(&server.database());
        Self { world: World::new(), server, address }
    }

    fn run(&self, words: &[&str]) -> Ran {
        self.run_in(&self.world, words)
    }

    /// In another world, as on another machine.
    fn run_in(&self, world: &World, words: &[&str]) -> Ran {
        world.run_with(&[("HAFT_STORE", &self.address), ("HAFT_LOCAL_MODELS", "")], words)
    }
}

#[test]
fn commands_keep_everything_on_the_server() {
    let here = ServerWorld::new();
    let wrote = here.run(&["call", "write_file", &json!({"path": "a.txt", "content": "one"}).to_string()]);
    assert_eq!((wrote.code, here.world.read("a.txt").as_str()), (0, "one"), "{wrote:?}");
    here.run(&["call", "write_file", &json!({"path": "a.txt", "content": "two"}).to_string()]);
    let listed = here.run(&["history", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().iter().map(|call| call["tool"].as_str().unwrap()).collect::<Vec<_>>(), ["write_file"; 2]);
    let undone = here.run(&["undo"]);
    assert_eq!((undone.code, here.world.read("a.txt").as_str()), (0, "one"), "{undone:?}");

    let turn = here.run(&["run", "what time is it?"]);
    assert_eq!(turn.code, 0, "{turn:?}");
    let again = here.run(&["run", "--session", "last", "how much memory is there?"]);
    assert_eq!(again.code, 0, "{again:?}");
    let sessions = here.run(&["sessions", "list", "--json"]).json();
    assert_eq!(sessions.as_array().unwrap().len(), 1, "{sessions}");

    let added = here.run(&["cron", "add", "what time is it", "--at", "1h", "--name", "clock", "--delivery", "none", "--json"]);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(here.run(&["cron", "list"]).stdout.contains("clock"));
    assert!(!here.world.state().join("haft.db").exists(), "nothing is in a file");
    let tables = "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM calls) > 1, (SELECT count(*) FROM automation_jobs)";
    assert_eq!(here.server.sql("test0", tables), "1|t|1");
}

#[test]
fn another_machine_continues_a_conversation_and_reads_its_history() {
    let here = ServerWorld::new();
    assert_eq!(here.run(&["run", "what time is it?"]).code, 0);
    let there = World::new();
    let continued = here.run_in(&there, &["run", "--session", "last", "and what does README.md say?"]);
    assert_eq!(continued.code, 0, "{continued:?}");
    let shown = here.run_in(&there, &["sessions", "show", "last"]);
    assert!(shown.stdout.contains("what time is it?") && shown.stdout.contains("README.md"), "{shown:?}");
}

#[test]
fn doctor_names_the_server_and_prune_works_on_it() {
    let here = ServerWorld::new();
    here.run(&["call", "noop", "{}"]);
    let doctor = here.run(&["doctor"]);
    assert!(doctor.stdout.contains("/test0 can be read and written"), "{doctor:?}");
    let pruned = here.run(&["prune"]);
    assert_eq!(pruned.code, 0, "{pruned:?}");
}

#[test]
fn prune_removes_blobs_from_the_server_also_those_of_other_machines() {
    let here = ServerWorld::new();
    for content in ["one", "two"] {
        here.run(&["call", "write_file", &json!({"path": "a.txt", "content": content}).to_string()]);
    }
    let blobs = || here.server.sql("test0", "SELECT count(DISTINCT key) FROM blobs WHERE starts_with(key, 'pre-images/')");
    assert_eq!(blobs(), "1");
    let there = World::with_config("[retention]\npre_images = { days = 30 }\n");
    let listed = |yes: &[&str]| {
        let pruned = here.run_in(&there, &[&["prune", "--json"], yes].concat()).json();
        let kinds = pruned["kinds"].as_array().unwrap().clone();
        let kind = kinds.into_iter().find(|kind| kind["kind"] == "pre-images").unwrap();
        (kind["removed"].as_u64().unwrap(), kind["kept"].as_u64().unwrap())
    };
    assert_eq!((listed(&["--yes"]), blobs().as_str()), ((0, 1), "1"), "what is new stays");
    here.server.sql("test0", "UPDATE blobs SET written = written - interval '40 days'");
    assert_eq!((listed(&[]), blobs().as_str()), ((1, 0), "1"), "nothing goes without --yes");
    assert_eq!((listed(&["--yes"]), blobs().as_str()), ((1, 0), "0"));
}

#[test]
fn server_that_is_gone_is_named_without_its_password() {
    let world = World::new();
    let address = "postgres://user:hunter2@127.0.0.1:1/haft";
    let ran = world.run_with(&[("HAFT_STORE", address)], &["history"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("the database server postgres://127.0.0.1:1/haft cannot be reached"), "{ran:?}");
    assert!(ran.stderr.contains("start it, or check HAFT_STORE"), "{ran:?}");
    assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
}

#[test]
fn address_that_is_none_is_wrong_usage_and_shows_no_password() {
    let world = World::new();
    for (address, why) in [
        ("mysql://user:hunter2@host/x", "mysql is no kind of server that haft knows"),
        ("hunter2", "it is no kind of server that haft knows"),
        ("postgres://user:hunter2@host:port/x", "invalid value for option"),
        ("postgres://user:pass@hunter2@host/x", "an '@' of the password is written as %40"),
        ("postgres://user:hunter2@host/x?sslmode=hunter2", "invalid value for option"),
    ] {
        for command in [&["history"][..], &["sessions", "list"], &["prune"]] {
            let ran = world.run_with(&[("HAFT_STORE", address)], command);
            assert_eq!(ran.code, 2, "{address}: {ran:?}");
            assert!(ran.stderr.contains(why) && ran.stderr.contains("write postgres://user@host/database, or unset it"), "{ran:?}");
            assert!(!format!("{ran:?}").contains("hunter2"), "{ran:?}");
        }
    }
    assert_eq!(world.run(&["call", "noop", "{}"]).code, 0);
    let ran = world.run(&["store", "copy", "--to", "mysql://user:hunter2@host/x"]);
    assert!(ran.code == 2 && ran.stderr.contains("'--to' is no address of a server (") && !ran.stderr.contains("hunter2"), "{ran:?}");
}

/// The certificate of the tests of the providers is for `secure.example`, and signed by itself.
const CERTIFICATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../provider/tests/client/data");

#[test]
fn connection_over_tls_checks_the_certificate_and_says_how_to_trust_it() {
    let certificate = format!("{CERTIFICATES}/certificate.pem");
    let key = haft_text::base64::encode(&std::fs::read(format!("{CERTIFICATES}/key.der")).unwrap());
    let kind = "PRIVATE";
    let key = format!("-----BEGIN {kind} KEY-----\n{key}\n-----END {kind} KEY-----\n");
    let server = PostgresServer::start_encrypted(&std::fs::read_to_string(&certificate).unwrap(), &key);
    let world = World::new();
    let at = |host: &str, mode: &str| format!("postgres://postgres@{host}:{}/postgres?hostaddr=127.0.0.1&sslmode={mode}", server.port());
    let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND usename = 'postgres'";
    let trusted = [("HAFT_STORE", at("secure.example", "require")), ("SSL_CERT_FILE", certificate.clone())];
    let called = world.run_with(&trusted.each_ref().map(|(name, value)| (*name, value.as_str())), &["call", "noop", "{}"]);
    assert_eq!(called.code, 0, "{called:?}");
    assert_eq!(server.sql("postgres", "SELECT count(*) FROM calls"), "1");
    assert_eq!(server.sql("postgres", encrypted), "0", "the process has ended");
    // Nobody that the machine knows has signed it, or it is for another host.
    for (host, roots) in [("secure.example", None), ("other.example", Some(certificate.as_str()))] {
        let address = at(host, "require");
        let variables: Vec<(&str, &str)> =
            [("HAFT_STORE", address.as_str())].into_iter().chain(roots.map(|file| ("SSL_CERT_FILE", file))).collect();
        let refused = world.run_with(&variables, &["call", "noop", "{}"]);
        assert_ne!(refused.code, 0, "{host}: {refused:?}");
        assert!(refused.stderr.contains("name the certificate that signed the server's in SSL_CERT_FILE"), "{host}: {refused:?}");
    }
    assert_eq!(server.sql("postgres", "SELECT count(*) FROM calls"), "1");
    let plain = PostgresServer::start();
    let address = format!("{}?sslmode=require", plain.address("postgres"));
    let refused = world.run_with(&[("HAFT_STORE", &address)], &["history"]);
    assert!(refused.code != 0 && refused.stderr.contains("turn TLS on at the server"), "{refused:?}");
}

#[test]
fn copy_moves_everything_and_continues_where_it_was_cut_off() {
    let here = ServerWorld::new();
    let world = &here.world;
    world.call("write_file", &json!({"path": "a.txt", "content": "one"}));
    world.call("write_file", &json!({"path": "a.txt", "content": "two"}));
    let alone: &[(&str, &str)] = &[("HAFT_LOCAL_MODELS", "")];
    assert_eq!(world.run_with(alone, &["run", "what time is it?"]).code, 0);
    let before = [world.run(&["history", "--json"]).json(), world.run(&["sessions", "list", "--json"]).json()];
    let copied = world.run(&["store", "copy", "--to", &here.address, "--json"]);
    assert_eq!(copied.code, 0, "{copied:?}");
    assert_eq!([here.run(&["history", "--json"]).json(), here.run(&["sessions", "list", "--json"]).json()], before);
    let again = world.run(&["store", "copy", "--to", &here.address, "--json"]).json();
    assert!(again.as_array().unwrap().iter().all(|kind| kind["copied"] == 0), "{again}");
    // Another machine undoes what this one did: the old content came along.
    std::fs::remove_dir_all(world.state()).unwrap();
    let undone = here.run(&["undo"]);
    assert_eq!((undone.code, world.read("a.txt").as_str()), (0, "one"), "{undone:?}");
    // Now the server has what the file has not.
    let other = World::new();
    other.call("noop", &json!({}));
    let refused = other.run(&["store", "copy", "--to", &here.address]);
    assert!(refused.code != 0 && refused.stderr.contains("copy to an empty database"), "{refused:?}");
}
