//! `exec` in containers, through the real binary and the real podman, on a root of busybox alone. No image is fetched.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::harness::World;
use super::processes::processes_with;

const APPLETS: &[&str] =
    &["sh", "cat", "ls", "id", "sleep", "echo", "env", "touch", "pwd", "wc", "mkdir", "rm", "mv", "grep", "kill", "tr", "setsid", "true"];

/// A root file system, as a user would have one.
pub(crate) fn root_folder(root: &Path) {
    for folder in ["bin", "proc", "sys", "dev", "etc", "run", "tmp", "var/tmp"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::copy("/bin/busybox", root.join("bin/busybox")).expect("busybox-static is installed");
    for applet in APPLETS {
        symlink("busybox", root.join("bin").join(applet)).unwrap();
    }
}

pub(crate) fn world(more: &str) -> World {
    let world = World::new();
    let root = world.path("root");
    root_folder(&root);
    world.configure(&format!("[exec]\nhost = 'container'\n[sandbox.container]\nimage = '{}'\n{more}", root.display()));
    world
}

/// What a line needs to be allowed a host at all.
const NETWORK: &str = "access = 'full-access'\nnetwork.allow = ['127.0.0.1:9']\n";

fn text(result: &Value) -> &str {
    result["result"].as_str().or_else(|| result["message"].as_str()).unwrap_or_default()
}

#[test]
fn a_command_runs_in_a_container_and_reaches_the_workspace_alone() {
    let world = world("");
    fs::create_dir_all(world.file(".git")).unwrap();
    world.write("a/.env", "PASSWORD=hunter2\n");
    // In a file, which nobody reads beforehand: only the sandbox holds.
    let script = "echo one; pwd > where; cat a/.env; (echo x > .git/config) 2>/dev/null; (echo x > .haft) 2>/dev/null; \
                  (echo x > /etc/x) 2>/dev/null; mv .git g 2>/dev/null; ls /sys/class/net; env | grep -ci -e key -e token; exit 3";
    world.write("attack", script);
    let line = "sh attack";
    let variables = [("OPENAI_API_KEY", "sk-secret")];
    let ran = world.run_with(&variables, &["call", "exec", &json!({ "command": line }).to_string(), "--json"]);
    let result = ran.json();
    assert_eq!((&result["details"]["sandbox"], &result["details"]["exit_code"]), (&json!("container"), &json!(3)), "{result}");
    let said = text(&result);
    assert!(said.contains("one\n") && said.contains("\nlo\n0\n") && !said.contains("hunter2"), "{said}");
    assert_eq!(world.read("where").trim(), world.file("").canonicalize().unwrap().to_string_lossy());
    assert!(world.file(".git").is_dir() && !world.file(".git/config").exists() && !world.file(".haft").exists(), "{said}");
    let in_root: Vec<_> = fs::read_dir(world.path("root/tmp")).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(in_root.is_empty(), "the root of the user was changed: {in_root:?}");
}

#[test]
fn a_call_may_ask_for_a_container_by_either_name() {
    let world = world("");
    world.configure(&fs::read_to_string(world.path("config/haft/config.toml")).unwrap().replace("host = 'container'", "host = 'sandbox'"));
    for host in ["container", "gateway"] {
        let (_, result) = world.call("exec", &json!({ "command": "echo $0", "host": host }));
        assert_eq!((&result["details"]["sandbox"], text(&result)), (&json!("container"), "/bin/sh"), "{result}");
    }
    let (_, result) = world.call("exec", &json!({ "command": "true" }));
    assert_eq!(result["details"]["sandbox"], "bubblewrap", "{result}");
}

#[test]
fn what_cannot_be_had_is_refused_with_what_to_do() {
    let elsewhere = tempfile::tempdir().unwrap();
    let broken = elsewhere.path().display().to_string();
    let image = |image: &str| format!("[exec]\nhost = 'container'\n[sandbox.container]\nimage = '{image}'\n");
    let container = json!({ "command": "touch ran", "host": "container" });
    let hosts = json!({ "command": "touch ran", "host": "container", "allow_host": ["127.0.0.1:9"] });
    let inspected = "no container 'haft-none' is running";
    let path = std::env::var("PATH").unwrap();
    for (name, config, search, arguments, kind, words) in [
        ("no image", String::new(), &*path, &container, "sandbox_unavailable", "set 'sandbox.container.image'"),
        ("no such image", image("haft-none"), &path, &container, "sandbox_unavailable", "there is no local image 'haft-none'"),
        ("no such folder", image("/no/such"), &path, &container, "sandbox_unavailable", "/no/such is no folder"),
        ("no engine", image("/"), &broken, &container, "sandbox_unavailable", "install podman"),
        ("not running", "sandbox.container.running = 'haft-none'\n".into(), &path, &container, "sandbox_unavailable", inspected),
        ("hosts", format!("{NETWORK}{}", image("/")), &path, &hosts, "sandbox_unavailable", "reaches more than"),
        ("node", String::new(), &path, &json!({ "command": "touch ran", "host": "node" }), "validation_error", "No machine is paired"),
        (
            "node configured",
            "exec.host = 'node'\n".into(),
            &path,
            &json!({ "command": "touch ran" }),
            "validation_error",
            "No machine is paired",
        ),
    ] {
        let world = World::with_config(&config);
        let ran = world.run_with(&[("PATH", search)], &["call", "exec", &arguments.to_string(), "--json"]);
        let result = ran.json();
        assert_eq!((ran.code, &result["error_type"]), (1, &json!(kind)), "{name}: {result}");
        assert!(text(&result).contains(words), "{name}: {result}");
        assert!(!world.file("ran").exists(), "{name}");
    }
}

#[test]
fn a_project_chooses_no_container() {
    let world = World::new();
    world.write(".haft/config.toml", "[exec]\nhost = 'container'\n[sandbox.container]\nimage = '/'\nrunning = 'evil'\n");
    let shown = world.run(&["config", "show"]);
    assert!(shown.stderr.is_empty() || shown.stderr.contains("cannot widen"), "{shown:?}");
    let (_, result) = world.call("exec", &json!({ "command": "true" }));
    assert_eq!(result["details"]["sandbox"], "bubblewrap", "{result}");
}

/// A container of the user's own, which is removed whatever happens.
struct Box(String);

impl Drop for Box {
    fn drop(&mut self) {
        Command::new("podman").args(["rm", "--force", "--time", "0", &self.0]).output().ok();
    }
}

#[test]
fn running_container_is_entered_where_a_weaker_sandbox_was_accepted() {
    let world = world("");
    let (name, root) = (format!("test-box-{}", std::process::id()), world.path("root"));
    let workspace = world.file("").canonicalize().unwrap();
    let mut start = Command::new("podman");
    start.args(["--runtime", "runc", "run", "--detach", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=256:256"]);
    start.arg("--name").arg(&name).arg("--volume").arg(format!("{0}:{0}:rw", workspace.display()));
    let started = start.arg("--rootfs").arg(format!("{}:O", root.display())).args(["/bin/sleep", "600"]).output().unwrap();
    let _removed = Box(name.clone());
    assert!(started.status.success(), "{started:?}");
    world.configure(&format!("exec.host = 'container'\nsandbox.container.running = '{name}'\n"));
    let (_, refused) = world.call("exec", &json!({ "command": "touch ran" }));
    assert_eq!(refused["error_type"], "sandbox_unavailable", "{refused}");
    world.configure(&format!("exec.host = 'container'\nsandbox.mode = 'preferred'\nsandbox.container.running = '{name}'\n"));
    let (_, result) = world.call("exec", &json!({ "command": "echo inside > ran; (sleep 7118.5 &) ; sleep 7118.5", "timeout": 1 }));
    assert_eq!((&result["error_type"], world.read("ran").trim()), (&json!("timeout"), "inside"), "{result}");
    assert!(text(&result).contains("were decided where it was started, not by Haft"), "a weaker sandbox is reported: {result}");
    assert_eq!(processes_with("7118.5"), Vec::<String>::new());
}
