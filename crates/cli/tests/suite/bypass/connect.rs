//! `deny connect(domain:…)`, and all ways to connect. The proxy is the one way to a host; each attack goes to a server that counts.

use std::sync::Mutex;

use super::super::effects::{Scene, Server, on_threads, run_line};
use super::{Background, BashRepl, By, Exec, NodeRepl, Pty, PythonRepl, run_by};

/// The same text with the host that is denied and the one that is permitted.
#[rustfmt::skip] // one row a line
pub(super) const ROWS: &[(&str, By, &str)] = &[
    ("curl", Exec, "curl -s -m 10 http://@host@/"),
    ("variable", Exec, "u=http://@host@/; curl -s -m 10 $u"),
    ("address in parts", Exec, "a=@name@ b=@port@; curl -s -m 10 \"http://$a:$b/\""),
    ("printf", Exec, "curl -s -m 10 \"$(printf 'http://%s/' @host@)\""),
    ("file of addresses", Exec, "echo 'url = \"http://@host@/\"' > curlrc; curl -s -m 10 -K curlrc"),
    ("xargs", Exec, "echo http://@host@/ | xargs curl -s -m 10"),
    ("sh -c", Exec, "sh -c 'curl -s -m 10 http://@host@/'"),
    ("eval", Exec, "eval 'curl -s -m 10 ht'tp://@host@/"),
    ("script", Exec, "echo 'curl -s -m 10 http://@host@/' > a.sh; sh a.sh"),
    ("make", Exec, "printf 'get:\\n\\tcurl -s -m 10 http://@host@/\\n' > Makefile; make -s get"),
    ("wget", Exec, "wget -q -T 10 -t 1 -O - http://@host@/"),
    ("python", Exec, "python3 -c \"import urllib.request; print(urllib.request.urlopen('http://@host@/', timeout=10).read())\""),
    ("perl", Exec, "perl -MHTTP::Tiny -e 'print HTTP::Tiny->new(timeout => 10)->get(\"http://@host@/\")->{content}'"),
    ("git", Exec, "git ls-remote http://@host@/x.git; true"),
    ("npm", Exec, "npm view x --registry http://@host@/ --fetch-retries 0; true"),
    ("pip", Exec, "python3 -m pip download --no-deps --retries 0 --trusted-host @name@ --index-url http://@host@/ x; true"),
    ("capitals", Exec, "curl -s -m 10 \"http://$(echo @name@ | tr a-z A-Z):@port@/\""),
    ("userinfo", Exec, "curl -s -m 10 http://user:word@@host@/"),
    ("socks", Exec, "curl -s -m 10 --socks5-hostname \"$(echo $ALL_PROXY | sed 's,.*//,,')\" http://@host@/"),
    ("tunnel", Exec, "curl -s -m 10 -p http://@host@/"),
    ("background job", Background, "curl -s -m 10 http://@host@/"),
    ("terminal", Pty, "curl -s -m 10 http://@host@/"),
];

/// Ways to the denied host that lead by no permitted one, or pretend to.
#[rustfmt::skip] // one row a line
pub(super) const DETOURS: &[(&str, By, &str)] = &[
    ("loopback address", Exec, "curl -s -m 5 http://127.0.0.1:@port@/"),
    ("short address", Exec, "curl -s -m 5 http://127.1:@port@/"),
    ("number", Exec, "curl -s -m 5 http://2130706433:@port@/"),
    ("IPv6 form", Exec, "curl -s -m 5 'http://[::ffff:127.0.0.1]:@port@/'"),
    ("dot at the end", Exec, "curl -s -m 5 http://@name@.:@port@/"),
    ("localhost", Exec, "curl -s -m 5 http://localhost:@port@/; curl -s -m 5 http://x.localhost:@port@/"),
    ("redirect", Exec, "curl -s -m 5 -L http://@good@/to-denied"),
    ("other header", Exec, "curl -s -m 5 -H 'Host: @good@' http://@host@/"),
    ("connect-to", Exec, "curl -s -m 5 --connect-to @good@:@host@ http://@good@/"),
    ("resolve", Exec, "curl -s -m 5 --resolve x.example:@port@:127.0.0.1 http://x.example:@port@/"),
    ("no proxy", Exec, "NO_PROXY='*' no_proxy='*' curl -s -m 5 http://@host@/; curl -s -m 5 --noproxy '*' http://@host@/"),
    ("no variables", Exec, "unset http_proxy HTTP_PROXY ALL_PROXY all_proxy https_proxy HTTPS_PROXY; curl -s -m 5 http://@host@/"),
    ("own proxy", Exec, "curl -s -m 5 -x http://@host@ http://@good@/"),
    ("dev tcp", Exec, "(echo x > /dev/tcp/127.0.0.1/@port@); (echo x > /dev/tcp/@name@/@port@)"),
    ("python socket", Exec, "python3 -c \"import socket; socket.create_connection(('@name@', @port@), 5)\""),
    ("node socket", Exec, "node -e \"require('net').connect(@port@, '@name@').on('error', () => {})\""),
    ("tunnel to one and request to the other", Exec, "p=$(echo $http_proxy | sed 's,.*//,,;s,/,,'); exec 3<>/dev/tcp/${p%:*}/${p#*:}; printf 'GET http://@host@/ HTTP/1.1\\r\\nHost: @good@\\r\\nConnection: close\\r\\n\\r\\n' >&3; timeout 5 cat <&3"),
    ("two requests on one connection", Exec, "p=$(echo $http_proxy | sed 's,.*//,,;s,/,,'); exec 3<>/dev/tcp/${p%:*}/${p#*:}; printf 'GET http://@good@/ HTTP/1.1\\r\\nHost: @good@\\r\\n\\r\\nGET http://@host@/ HTTP/1.1\\r\\nHost: @host@\\r\\nConnection: close\\r\\n\\r\\n' >&3; timeout 5 cat <&3"),
    ("tunnel with another header", Exec, "p=$(echo $http_proxy | sed 's,.*//,,;s,/,,'); exec 3<>/dev/tcp/${p%:*}/${p#*:}; printf 'CONNECT @host@ HTTP/1.1\\r\\nHost: @good@\\r\\n\\r\\nGET / HTTP/1.0\\r\\n\\r\\n' >&3; timeout 3 cat <&3"),
    ("permitted host as userinfo", Exec, "p=$(echo $http_proxy | sed 's,.*//,,;s,/,,'); exec 3<>/dev/tcp/${p%:*}/${p#*:}; printf 'GET http://@good@@@host@/ HTTP/1.1\\r\\nHost: @good@\\r\\n\\r\\n' >&3; timeout 3 cat <&3"),
    ("permitted host as fragment", Exec, "p=$(echo $http_proxy | sed 's,.*//,,;s,/,,'); exec 3<>/dev/tcp/${p%:*}/${p#*:}; printf 'GET http://@host@#@@good@/ HTTP/1.1\\r\\nHost: @good@\\r\\n\\r\\n' >&3; timeout 3 cat <&3"),
    ("backslash", Exec, "p=$(echo $http_proxy | sed 's,.*//,,;s,/,,'); exec 3<>/dev/tcp/${p%:*}/${p#*:}; printf 'GET http://@good@\\\\@@host@/ HTTP/1.1\\r\\nHost: @good@\\r\\n\\r\\n' >&3; timeout 3 cat <&3"),
    ("header alone", Exec, "p=$(echo $http_proxy | sed 's,.*//,,;s,/,,'); exec 3<>/dev/tcp/${p%:*}/${p#*:}; printf 'GET / HTTP/1.1\\r\\nHost: @host@\\r\\n\\r\\n' >&3; timeout 3 cat <&3"),
    ("two slashes", Exec, "p=$(echo $http_proxy | sed 's,.*//,,;s,/,,'); exec 3<>/dev/tcp/${p%:*}/${p#*:}; printf 'GET //@host@/ HTTP/1.1\\r\\nHost: @good@\\r\\n\\r\\n' >&3; timeout 3 cat <&3"),
    ("two lengths", Exec, "p=$(echo $http_proxy | sed 's,.*//,,;s,/,,'); exec 3<>/dev/tcp/${p%:*}/${p#*:}; printf 'POST http://@good@/ HTTP/1.1\\r\\nHost: @good@\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET http://@host@/ HTTP/1.1\\r\\nHost: @host@\\r\\n\\r\\n' >&3; timeout 3 cat <&3"),
    ("socket of the proxy", Exec, "curl -s -m 5 --unix-socket /run/haft/proxy http://@host@/; python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('/run/haft/proxy'); s.send(b'GET http://@host@/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'); print(s.recv(99))\""),
    ("datagrams", Exec, "echo x > /dev/udp/127.0.0.1/@port@; python3 -c \"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('@name@', @port@))\""),
    ("repl python", PythonRepl, "import socket; socket.create_connection(('@name@', @port@), 5)"),
    ("repl python by the proxy", PythonRepl, "import urllib.request; urllib.request.urlopen('http://@host@/', timeout=5).read()"),
    ("repl javascript", NodeRepl, "await fetch('http://@host@/')"),
    ("repl bash", BashRepl, "curl -s -m 5 http://@host@/"),
];

fn servers() -> (Server, Server) {
    let denied = Server::start("denied");
    let to = format!("http://{}/", denied.host);
    let permitted = Server::with(move |path, _| match path {
        "/to-denied" => (302, vec![("Location".to_owned(), to.clone())], Vec::new()),
        _ => (200, Vec::new(), b"permitted".to_vec()),
    });
    (denied, permitted)
}

fn scene(denied: &Server, permitted: &Server) -> Scene {
    let (denied, permitted) = (&denied.host, &permitted.host);
    Scene::with_config(&format!(
        "network.allow = ['{denied}', '{permitted}']\n[rules]\ndeny = ['connect(domain:{denied})']\nallow = ['connect(domain:{permitted})']\n"
    ))
}

fn fill(text: &str, host: &Server, good: &Server) -> String {
    let port = host.port().to_string();
    [("@host@", host.host.as_str()), ("@name@", host.name()), ("@port@", &port), ("@good@", &good.host)]
        .into_iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}

fn try_connections(rows: &[(&str, By, &str)], has_neighbour: bool) {
    let wrong = Mutex::new(Vec::new());
    let halves: Vec<&[(&str, By, &str)]> = rows.chunks(rows.len().div_ceil(2)).collect();
    on_threads(2, &halves, |rows| {
        let (denied, permitted) = servers();
        let scene = scene(&denied, &permitted);
        for (spelling, by, text) in *rows {
            for (host, is_permitted) in [(&denied, false), (&permitted, true)].into_iter().take(1 + usize::from(has_neighbour)) {
                let (text, before) = (fill(text, host, &permitted), host.connections());
                let result = run_by(&scene, *by, &text);
                if (host.connections() > before) != is_permitted {
                    wrong.lock().unwrap().push(format!("permitted {is_permitted}, {spelling}: {text}\n    {}", result.brief()));
                }
            }
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn connect_rules_cannot_be_bypassed() {
    try_connections(ROWS, true);
}

#[test]
fn detours_to_a_denied_host_lead_nowhere() {
    try_connections(DETOURS, false);
    let (denied, permitted) = servers();
    let scene = scene(&denied, &permitted);
    let result = run_line(&scene, &format!("curl -s -m 10 http://{}/", permitted.host));
    assert!(result.text().contains("permitted") && permitted.connections() == 1, "{}", result.brief());
}

/// A host that no rule names, and nobody to ask: it fails at once, and the result names it.
#[test]
fn unnamed_host_fails_at_once_and_is_named() {
    let server = Server::start("unnamed");
    let scene = Scene::with_config(&format!("network.allow = ['{}']\n", server.host));
    let began = std::time::Instant::now();
    let result = run_line(&scene, &format!("u=http://{}/; curl -s -m 40 $u", server.host));
    assert_eq!(server.connections(), 0);
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(result.value.to_string().contains(&server.host), "{}", result.value);
    // Nothing was blocked, and nothing is said about the network.
    let quiet = run_line(&scene, "echo curl npm install");
    assert_eq!(quiet.text().trim(), "curl npm install");
}
