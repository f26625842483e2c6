//! What must never be reached, in every spelling, and whatever a name resolves to.

use std::sync::Arc;

use haft_contract::{ErrorKind, ports::HttpClient};
use haft_host::{GuardedClient, NetworkRules};

use crate::support::{Names, Server, client_for, client_with, ok, pass_again, patient, request, send, text};

fn closed() -> GuardedClient {
    client_with(&[], patient(), Arc::new(Names::default()))
}

#[tokio::test]
async fn no_spelling_of_this_machine_reaches_it() {
    let server = Server::answering(|_| ok("secret")).await;
    for host in [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "a.localhost",
        "0.0.0.0",
        "0",
        "127.1",
        "127.0.1",
        "127.8.9.10",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "%31%32%37.0.0.1",
        "127。0。0。1",
        "①②⑦.⓪.⓪.①",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[::ffff:0:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::]",
        "[2001::80ff:fffe]",
    ] {
        let client = closed();
        let url = server.url_as(host, "/");
        let error = send(&client, request("GET", &url)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NetworkError, "{host}: {error}");
        assert!(error.message().starts_with("Address not allowed: "), "{host}: {error}");
        assert_eq!(client.locate("GET", &url).unwrap().refused.as_deref(), Some(error.message()), "{host}: known before sending");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn no_private_or_metadata_address_is_tried() {
    for host in [
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "192.0.2.1",
        "[fc00::1]",
        "[fd12:3456::1]",
        "[fe80::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[2001:db8::1]",
        "169.254.169.254",
        "[::ffff:169.254.169.254]",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "168.63.129.16",
        "metadata.google.internal",
        "METADATA.google.internal.",
    ] {
        let error = send(&closed(), request("GET", &format!("http://{host}/"))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NetworkError, "{host}: {error}");
        assert!(error.message().starts_with("Address not allowed: "), "{host}: {error}");
    }
    let zone = send(&closed(), request("GET", "http://[fe80::1%25eth0]/")).await.unwrap_err();
    assert_eq!(zone.kind(), ErrorKind::ValidationError);
}

#[tokio::test]
async fn a_public_name_that_resolves_to_this_machine_never_reaches_it() {
    let server = Server::answering(|_| ok("secret")).await;
    for answer in [&["127.0.0.1"][..], &["::1"], &["::ffff:127.0.0.1"], &["93.184.216.34", "127.0.0.1"], &["127.0.0.1", "93.184.216.34"]] {
        let names = Arc::new(Names::default().with("public.example", &[answer]));
        let client = client_with(&[], patient(), names);
        let error = send(&client, request("GET", &server.url_as("public.example", "/"))).await.unwrap_err();
        let inside = if answer == ["::1"] { "::1" } else { "127.0.0.1" };
        let expected = format!(
            "Address not allowed: public.example ({inside}) is a loopback address, and tools reach public addresses only. \
             To open it, add \"public.example:{}\" to `allow` under [network] in the user's config.toml.",
            server.address.port()
        );
        assert_eq!((error.kind(), error.message()), (ErrorKind::NetworkError, &*expected), "{answer:?}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn metadata_behind_a_name_stays_closed_even_if_the_name_is_allowed() {
    let names = Arc::new(Names::default().with("intern.example", &[&["169.254.169.254"]]));
    let client = client_with(&["intern.example".into(), "0.0.0.0/0".into()], patient(), names);
    let error = send(&client, request("GET", "http://intern.example/latest/meta-data/")).await.unwrap_err();
    assert_eq!(
        error.message(),
        "Address not allowed: intern.example (169.254.169.254) is a cloud metadata service, which gives away this machine's credentials. \
         No setting opens it to tools: do without it."
    );
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_its_checked_address_is_the_one_connected_to() {
    let checked = Server::answering(|_| ok("checked")).await;
    let names = Arc::new(Names::default().with("turning.example", &[&["127.0.0.1"], &["127.0.0.2"]]));
    let client = client_with(&[format!("127.0.0.1:{}", checked.address.port())], patient(), names.clone());
    let url = checked.url_as("turning.example", "/");
    assert_eq!(text(send(&client, request("GET", &url)).await.unwrap()).await, "checked");
    assert_eq!(names.asked().len(), 1, "no second lookup between checking and connecting");
    // The server closed the connection, so the next request looks up anew, and gets an address that is not allowed.
    let error = send(&client, request("GET", &url)).await.unwrap_err();
    assert!(error.message().starts_with("Address not allowed: turning.example (127.0.0.2) is a loopback address"), "{error}");
    assert_eq!((names.asked().len(), checked.connections()), (2, 1));
}

#[tokio::test]
async fn an_allowed_port_does_not_open_another_one() {
    let (open, shut) = (Server::answering(|_| ok("open")).await, Server::answering(|_| ok("shut")).await);
    let names = Arc::new(Names::default().with("site.example", &[&["127.0.0.1"]]));
    let client = client_with(&[open.address.to_string()], patient(), names);
    assert_eq!(text(send(&client, request("GET", &open.url_as("site.example", "/"))).await.unwrap()).await, "open");
    assert!(send(&client, request("GET", &shut.url_as("site.example", "/"))).await.is_err());
    assert!(send(&client, request("GET", &shut.url("/"))).await.is_err());
    assert_eq!(shut.connections(), 0);
}

#[tokio::test]
async fn allowed_names_open_private_addresses_and_localhost_needs_no_lookup() {
    let server = Server::answering(|_| ok("inside")).await;
    let port = server.address.port();
    for (allow, host) in [
        (format!("*.corp.example:{port}"), "api.corp.example"),
        ("api.corp.example".into(), "API.corp.example."),
        (format!("localhost:{port}"), "localhost"),
        (format!("127.0.0.1:{port}"), "localhost"),
        (format!("127.0.0.1:{port}"), "[::ffff:127.0.0.1]"),
    ] {
        let names = Arc::new(Names::default().with("api.corp.example", &[&["127.0.0.1"]]).with("localhost", &[&["10.0.0.1"]]));
        let client = client_with(std::slice::from_ref(&allow), patient(), names);
        let response = send(&client, request("GET", &server.url_as(host, "/"))).await;
        assert_eq!(text(response.unwrap_or_else(|error| panic!("{allow} {host}: {error}"))).await, "inside", "{allow} {host}");
    }
}

#[tokio::test]
async fn deny_wins_over_allow() {
    let server = Server::answering(|_| ok("")).await;
    let allow = [server.address.to_string(), "*.example".into()];
    for (deny, host) in [("127.0.0.0/8", "127.0.0.1"), ("site.example", "site.example"), ("127.0.0.1", "site.example")] {
        let names = Arc::new(Names::default().with("site.example", &[&["127.0.0.1"]]));
        let client = GuardedClient::with(NetworkRules::parse(&allow, &[deny.to_owned()]).unwrap(), patient(), names);
        let error = send(&client, request("GET", &server.url_as(host, "/"))).await.unwrap_err();
        assert!(error.message().contains(&format!("is denied by \"{deny}\" in `deny` under [network]")), "{error}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn proxies_of_the_environment_are_not_used() {
    const INSIDE: &str = "HAFT_TEST_PROXIED";
    let server = Server::answering(|_| ok("direct")).await;
    if std::env::var_os(INSIDE).is_some() {
        assert_eq!(text(send(&client_for(&server), request("GET", &server.url("/"))).await.unwrap()).await, "direct");
        return;
    }
    let proxy = Server::answering(|_| ok("through the proxy")).await;
    let url = proxy.url("");
    let environment = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"].map(|name| (name, &*url));
    pass_again(
        "addresses::proxies_of_the_environment_are_not_used",
        &[&environment[..], &[(INSIDE, "1"), ("NO_PROXY", ""), ("no_proxy", "")]].concat(),
    )
    .await;
    assert_eq!(proxy.connections(), 0);
}
