//! Hosts that a command may reach: through the real sandbox, its relay and the proxy, to servers on loopback.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::harness::World;

/// A server that answers every connection with one body, and counts them.
pub(crate) fn server(body: impl AsRef<[u8]> + Send + 'static) -> (u16, Arc<AtomicUsize>) {
    // Not 127.0.0.1, which is the sandbox itself to a command.
    let listener = TcpListener::bind("127.0.0.2:0").unwrap();
    let (port, count) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            let mut heard = [0; 4096];
            // A client that says nothing gets no answer.
            if stream.read(&mut heard).is_ok_and(|bytes| bytes > 0) {
                let body = body.as_ref();
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len()).ok();
                stream.write_all(body).ok();
            }
        }
    });
    (port, count)
}

fn text(result: &Value) -> &str {
    result["result"].as_str().or_else(|| result["message"].as_str()).unwrap_or_default()
}

#[test]
fn a_permitted_host_is_reached_and_no_other() {
    let ((good, reached), (evil, attacked)) = (server("hello from the server"), server("evil"));
    let rule = |port: u16| format!("connect(domain:127.0.0.2:{port} method:CONNECT)");
    let world =
        World::with_config(&format!("network.allow = ['127.0.0.2:{good}', '127.0.0.2:{evil}']\nrules.allow = ['{}']\n", rule(good)));
    let line = format!("curl -sS http://127.0.0.2:{good}/x");
    let ran = world.run(&["call", "exec", "--command", &line]);
    assert_eq!((ran.code, ran.stdout.trim(), reached.load(Ordering::SeqCst)), (0, "hello from the server", 1), "{ran:?}");

    let (_, result) = world.call("exec", &json!({ "command": format!("curl -s http://127.0.0.2:{evil}/") }));
    let told = format!(
        "[haft: 127.0.0.2:{evil} was blocked: it needs approval, and no one can approve here. To ask for it before the command runs, call \
         it with allow_host=[\"127.0.0.2:{evil}\"]; the user allows it with the rule '{}']",
        rule(evil)
    );
    assert!(text(&result).contains(&told), "which host it was, and what would allow it: {result}");

    // D14: variables of proxies that the model sets lead nowhere; D15: neither do other ports, addresses and protocols.
    let proxies = json!({ "HTTP_PROXY": format!("http://127.0.0.2:{evil}"), "http_proxy": format!("http://127.0.0.2:{evil}"), "NO_PROXY": "*", "no_proxy": "*" });
    for (line, env) in [
        (format!("curl -s -m 5 http://127.0.0.2:{good}/"), proxies),
        (format!("curl -s -m 5 --noproxy '*' http://127.0.0.2:{evil}/"), json!({})),
        (format!("curl -s -m 5 -p http://127.0.0.2:{evil}/"), json!({})),
        (format!("curl -s -m 5 -p -H 'Host: 127.0.0.2:{evil}' http://127.0.0.2:{good}/"), json!({})),
        (format!("curl -s -m 5 --connect-to ::127.0.0.2:{evil} http://127.0.0.2:{good}/"), json!({})),
        (format!("curl -s -m 5 --socks5-hostname $(echo $ALL_PROXY | sed 's,.*//,,') http://localhost:{evil}/"), json!({})),
        (format!("bash -c '(echo x > /dev/tcp/127.0.0.2/{evil})'"), json!({})),
    ] {
        let (_, result) = world.call("exec", &json!({ "command": line, "env": env }));
        assert_eq!(attacked.load(Ordering::SeqCst), 0, "{line}: {result}");
        assert!(!text(&result).contains("evil\n"), "{line}: {result}");
    }
}

#[test]
fn isolated_command_has_no_network_and_a_quiet_one_gets_no_hint() {
    let (port, reached) = server("hello");
    let world = World::with_config(&format!("access = 'full-access'\nnetwork.allow = ['127.0.0.2:{port}']\n"));
    let line = format!("curl -s -m 5 http://127.0.0.2:{port}/ || echo none");
    let (_, result) = world.call("exec", &json!({ "command": line, "isolate_network": true }));
    assert_eq!((text(&result), reached.load(Ordering::SeqCst)), ("none", 0), "{result}");
    let (_, result) = world.call("exec", &json!({ "command": format!("echo http://127.0.0.2:{port}/") }));
    assert_eq!(text(&result), format!("http://127.0.0.2:{port}/"), "no hint when nothing was blocked");
}

#[test]
fn rule_on_a_host_is_enough_for_a_sandboxed_command() {
    let (port, reached) = server("hello");
    let rule = format!("connect(domain:127.0.0.2:{port} method:CONNECT)");
    let world = World::with_config(&format!("network.allow = ['127.0.0.2:{port}']\nrules.allow = ['{rule}']\n"));
    let host = format!("127.0.0.2:{port}");
    let ran = world.run(&["call", "exec", "--command", &format!("curl -sS http://{host}/x"), "--allow-host", &host]);
    assert_eq!((ran.code, ran.stdout.trim(), reached.load(Ordering::SeqCst)), (0, "hello", 1), "{ran:?}");
}

/// D13: a call cannot give itself network access: that needs approval.
#[test]
fn d13_network_access_needs_approval() {
    let (port, reached) = server("hello");
    let world = World::with_config(&format!("network.allow = ['127.0.0.2:{port}']\n"));
    let (_, result) = world.call("exec", &json!({ "command": "curl x", "allow_host": [format!("127.0.0.2:{port}")] }));
    assert_eq!(result["error_type"], "permission_denied", "{result}");
    let private = World::with_config("access = 'full-access'\n");
    let (_, result) = private.call("exec", &json!({ "command": "curl x", "allow_host": [format!("127.0.0.2:{port}")] }));
    assert_eq!(result["status"], "error", "an address of this machine needs network.allow: {result}");
    assert_eq!(reached.load(Ordering::SeqCst), 0);
}
