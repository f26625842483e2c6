use haft_contract::ErrorKind;
use haft_testkit::FakeHost;

use super::*;
use crate::arguments::Common;
use crate::output::Output;
use crate::wire::Wire;

const FILE: &str = "access = \"workspace-write\" # mine\n\n[tools]\nallow = [\"read_file\", \"exec\"]\n\n[rules]\ndeny = [\"exec(git push *)\"]\n\
                    \n[providers.work]\nprotocol = \"openai\"\nbase_url = \"https://me:pass@host/v1\"\napi_key_command = \"print tok-123\"\n\
                    \n[mcp.servers.near]\ncommand = \"serve\" # tok-comment\nargs = [\"--key\", \"tok-argument\"]\n\
                    env = { TOKEN = \"tok-variable\" }\n[mcp.servers.far]\nurl = \"https://host/mcp?key=tok-query\"\n";

struct TestServer {
    folder: tempfile::TempDir,
    gateway: ServedGateway,
}

fn server() -> TestServer {
    server_with(FILE, "", Common::default())
}

fn server_with(own: &str, project: &str, flags: Common) -> TestServer {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    std::fs::write(&file, own).unwrap();
    std::fs::create_dir(folder.path().join(".haft")).unwrap();
    std::fs::write(folder.path().join(".haft/config.toml"), project).unwrap();
    let common = Common { workspace: Some(folder.path().to_owned()), config: Some(file), ..flags };
    let wire = Wire::new(&common, &Output::new(false, false, false)).map_err(|failure| failure.message.clone()).unwrap();
    let (settings, automation) = (ModelSettings::new(&wire), wire.automation());
    let gateway = ServedGateway { settings, control: Arc::default(), automation, started: Instant::now() };
    TestServer { folder, gateway }
}

#[test]
fn only_what_is_certainly_tighter_is_not_wider() {
    let server = server();
    for (patch, expected) in [
        (json!({"access": "read-only"}), "access tighter"),
        (json!({"access": "full-access"}), "access wider"),
        (json!({"rules": {"deny": ["exec(git push *)", "exec(curl *)"]}}), "rules.deny tighter"),
        (json!({"rules.deny": []}), "rules.deny wider"),
        (json!({"rules": {"allow": ["exec(rm *)"]}}), "rules.allow wider"),
        (json!({"tools": {"allow": ["read_file"]}}), "tools.allow tighter"),
        (json!({"tools": {"allow": ["read_file", "web_fetch"]}}), "tools.allow wider"),
        (json!({"tools": {"also_allow": ["cron"]}}), "tools.also_allow wider"),
        (json!({"network": {"allow": ["10.0.0.0/8"]}}), "network.allow wider"),
        (json!({"sandbox": {"mode": "off"}}), "sandbox.mode wider"),
        (json!({"providers": {"work": {"base_url": "https://evil.example/v1"}}}), "providers.work.base_url wider"),
        (json!({"model": "work/other"}), "model wider"),
        (json!({"display": {"todo_list": false}}), "display.todo_list neutral"),
    ] {
        let preview = server.gateway.preview(&patch, None).unwrap_or_else(|error| panic!("{patch}: {error:?}"));
        let keys: Vec<String> = preview.keys.iter().map(|key| format!("{} {}", key.key, key.authority.as_str())).collect();
        assert_eq!(keys, [expected], "{patch}");
    }
    assert_eq!(std::fs::read_to_string(server.folder.path().join("config.toml")).unwrap(), FILE, "a preview writes nothing");
}

fn previewed(server: &TestServer, patch: &Value) -> Vec<String> {
    let preview = server.gateway.preview(patch, None).unwrap_or_else(|error| panic!("{patch}: {error:?}"));
    preview.keys.iter().map(|key| format!("{} {}", key.key, key.authority.as_str())).collect()
}

#[test]
fn shorter_list_is_tighter_only_where_its_entries_allow() {
    let own = "[groups]\ndanger = [\"exec\", \"write_file\"]\n[tools]\ndeny = [\"group:danger\"]\nallow = [\"read_file\"]\n\
               [rules]\nonly = [\"write(src/**)\", \"write(docs/**)\", \"connect(domain:example.org)\"]\n\
               [network]\nallow = [\"10.0.0.0/8\", \"127.0.0.1:80\"]\n[channels.ops]\nkind = \"desktop\"\nallow_from = [\"1\", \"2\"]\n\
               [node.commands]\nsync = [\"/usr/bin/rsync\", \"--dry-run\", \"a\", \"b\"]\n[providers.work]\nbase_url = \"https://host/v1\"\nmodels = [\"a\", \"b\"]\n";
    // The project's list hides what the user's own allows.
    let server = server_with(own, "[tools]\nallow = [\"read_file\", \"web_fetch\"]\n", Common::default());
    for (patch, expected) in [
        (json!({"groups.danger": ["exec"]}), "groups.danger wider"),
        (json!({"groups.danger": []}), "groups.danger wider"),
        (json!({"rules.only": ["write(src/**)", "connect(domain:example.org)"]}), "rules.only tighter"),
        (json!({"rules.only": ["connect(domain:example.org)"]}), "rules.only wider"),
        (json!({"rules.only": []}), "rules.only wider"),
        (json!({"node.commands.sync": ["/usr/bin/rsync", "a", "b"]}), "node.commands.sync wider"),
        (json!({"providers.work.models": ["b"]}), "providers.work.models wider"),
        (json!({"tools.allow": ["read_file", "web_fetch"]}), "tools.allow wider"),
        (json!({"tools.allow": []}), "tools.allow tighter"),
        (json!({"network.allow": ["127.0.0.1:80"]}), "network.allow tighter"),
        (json!({"channels.ops.allow_from": ["1"]}), "channels.ops.allow_from tighter"),
    ] {
        assert_eq!(previewed(&server, &patch), [expected], "{patch}");
    }
}

#[test]
fn what_a_flag_or_a_project_hides_is_asked_about_as_well() {
    let flags = Common { access: Some(haft_contract::Access::WorkspaceWrite), ..Common::default() };
    let server = server_with(FILE, "ask = \"changes\"\n", flags);
    let patch = json!({"access": "full-access", "ask": "never", "rules.deny": ["exec(git push *)", "exec(rm *)"]});
    let mut keys = previewed(&server, &patch);
    keys.sort();
    assert_eq!(keys, ["access wider", "ask wider", "rules.deny tighter"]);
    let difference = server.gateway.preview(&patch, None).unwrap().difference;
    assert!(difference.contains("+access = \"full-access\"") && difference.contains("+ask = \"never\""), "{difference}");
    assert_eq!(previewed(&server, &json!({"access": "full-access"})), ["access wider"]);
}

#[test]
fn faulty_patches_and_old_hashes_are_refused() {
    let server = server();
    let many: Map<String, Value> = (0..40).map(|number| (format!("k{number}"), json!(true))).collect();
    for (patch, hash, words) in [
        (json!({"access": "root"}), None, "the file would have an error"),
        (json!({"acess": "read-only"}), None, "the file would have an error"),
        (json!({"access": null}), None, "must be a word"),
        (json!({"access": "workspace-write"}), None, "Nothing changes"),
        (json!({"rules": {"deny": [1]}}), None, "a list of words"),
        (Value::Object(many), None, "at most 32 keys"),
        (json!({"access": "read-only"}), Some("0000"), "Read it again with config.get"),
    ] {
        let error = server.gateway.preview(&patch, hash).unwrap_err();
        assert!(error.kind() == ErrorKind::ValidationError && error.message().contains(words), "{patch}: {error:?}");
    }
}

#[tokio::test]
async fn change_is_written_with_a_pre_image_and_the_rest_of_the_file_stays() {
    let server = server();
    let hash = server.gateway.config("access").unwrap().hash;
    let patch = json!({"access": "read-only"});
    let preview = server.gateway.preview(&patch, Some(&hash)).unwrap();
    let host = FakeHost::new();
    server.gateway.apply(&patch, &preview, &*host.journal).await.unwrap();
    let text = std::fs::read_to_string(server.folder.path().join("config.toml")).unwrap();
    assert_eq!((text, host.journal.kept().len()), (FILE.replace("workspace-write", "read-only"), 1));
    // What was looked at is not there any more.
    assert!(server.gateway.apply(&patch, &preview, &*host.journal).await.is_err());
}

#[test]
fn configuration_is_read_by_path_and_without_secrets() {
    let server = server();
    let part = server.gateway.config("providers").unwrap();
    let text = format!("{:?}", part.settings);
    assert!(text.contains("https://(not shown)@host/v1") && !text.contains("tok-123") && !text.contains("pass@"), "{text}");
    let servers = format!("{:?}", server.gateway.config("mcp").unwrap().settings);
    assert!(servers.contains("https://host/mcp?(not shown)") && !servers.contains("tok-"), "{servers}");
    let schema = server.gateway.schema("exec.limits").unwrap();
    assert!(schema["properties"]["memory"].is_object(), "{schema}");
    for part in ["exec", "tools", "mcp", "agents"] {
        assert!(server.gateway.schema(part).unwrap().to_string().len() <= MOST_SCHEMA_BYTES, "{part}");
    }
    assert!(server.gateway.schema("nothing").unwrap_err().message().contains("There is no key 'nothing'"));
}

#[test]
fn difference_shows_what_changes_and_nothing_beside_it() {
    let server = server();
    for (patch, expected) in [
        (json!({"mcp.servers.near.deny": ["x"]}), "+mcp.servers.near.deny = [\"x\"]\n"),
        (json!({"mcp.servers.far.deny": ["x"]}), "+mcp.servers.far.deny = [\"x\"]\n"),
        (
            json!({"rules": {"deny": ["exec(git push *)", "exec(rm *)"]}}),
            "-rules.deny = [\"exec(git push *)\"]\n+rules.deny = [\"exec(git push *)\",\"exec(rm *)\"]\n",
        ),
        // The user must see what replaces a secret; the model has written it.
        (
            json!({"mcp.servers.near.env.TOKEN": "mine"}),
            "-mcp.servers.near.env.TOKEN = \"(not shown)\"\n+mcp.servers.near.env.TOKEN = \"mine\"\n",
        ),
        (
            json!({"providers.work.base_url": "https://other/v1"}),
            "-providers.work.base_url = \"https://(not shown)@host/v1\"\n+providers.work.base_url = \"https://other/v1\"\n",
        ),
    ] {
        let preview = server.gateway.preview(&patch, None).unwrap_or_else(|error| panic!("{patch}: {error:?}"));
        let changed = preview.difference.split_inclusive('\n').skip(3).collect::<String>();
        assert_eq!(changed, expected, "{patch}: {}", preview.difference);
        assert!(!preview.difference.contains("tok-") && !preview.difference.contains("me:pass"), "{}", preview.difference);
    }
}

#[tokio::test]
async fn second_request_for_a_restart_changes_nothing() {
    let server = server();
    let first = server.gateway.restart("s1", "update", Duration::from_secs(5)).await.unwrap();
    assert!(first.contains("after 5 s at the latest"), "{first}");
    assert!(server.gateway.restart("s2", "again", Duration::ZERO).await.unwrap().contains("asked for already"));
    assert_eq!(server.gateway.control.restart_request().unwrap().session, "s1");
}
