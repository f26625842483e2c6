use tokio::io::BufReader;

use super::*;

/// What reaches the server of `good.example:8080`, and why the rest does not.
async fn passed(stream: &str, switched: Option<bool>) -> (String, Option<String>) {
    let target = ProxyTarget::of_authority("good.example:8080").unwrap();
    let (answer, answered) = oneshot::channel();
    if let Some(switched) = switched {
        answer.send(switched).unwrap();
    }
    let mut sent = Vec::new();
    // A small buffer, so that lines come in pieces.
    let outcome = pass(&mut BufReader::with_capacity(7, stream.as_bytes()), &mut sent, &target, answered).await;
    let reason = match outcome {
        Ok(()) => None,
        Err(Broken::Refused(reason)) => Some(reason),
        Err(Broken::Io(error)) => Some(error.to_string()),
    };
    (String::from_utf8(sent).unwrap(), reason)
}

const GOOD: &str = "GET /a HTTP/1.1\r\nHost: good.example:8080\r\n\r\n";
const EVIL: &str = "GET /b HTTP/1.1\r\nHost: evil.example\r\n\r\n";

#[tokio::test]
async fn requests_to_the_permitted_host_pass_unchanged() {
    for stream in [
        GOOD.to_owned(),
        GOOD.repeat(3),
        format!("\r\n{GOOD}\r\n{GOOD}"),
        GOOD.replace("good.example:8080", "GOOD.example."),
        GOOD.replace("good.example:8080", "good.example"),
        GOOD.replace("/a", "http://good.example:8080/a"),
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
        format!("POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 11\r\n\r\nHost: evil\n{GOOD}"),
        format!(
            "POST / HTTP/1.1\r\nhost:good.example\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nabcde\r\n0a\r\n0123456789\r\n0\r\nT: v\r\n\r\n{GOOD}"
        ),
        String::new(),
    ] {
        assert_eq!(passed(&stream, None).await, (stream.clone(), None));
    }
}

#[tokio::test]
async fn d15_no_request_of_a_connection_asks_for_another_host() {
    let post = |headers: &str, body: &str| format!("POST / HTTP/1.1\r\nHost: good.example\r\n{headers}\r\n\r\n{body}");
    for (stream, reason) in [
        (EVIL.to_owned(), "asks for 'evil.example'"),
        (format!("{GOOD}{EVIL}"), "asks for 'evil.example'"),
        (format!("\r\n\r\n{EVIL}"), "asks for 'evil.example'"),
        (EVIL.replace("GET", "BREW"), "asks for 'evil.example'"),
        (EVIL.replace("evil.example", "good.example.evil"), "asks for"),
        (EVIL.replace("evil.example", "good.example:80"), "asks for"),
        (EVIL.replace("evil.example", ""), "asks for ''"),
        (GOOD.replace("/a", "http://evil.example/a"), "asks for 'http://evil.example/a'"),
        (GOOD.replace("/a", "evil.example:8080"), "asks for"),
        (GOOD.replace("GET /a", "CONNECT evil.example:8080"), "a tunnel within"),
        (GOOD.replace("\r\n\r\n", "\r\nHost: evil.example\r\n\r\n"), "no host, or several"),
        ("GET / HTTP/1.1\r\nA: b\r\n\r\n".to_owned(), "no host, or several"),
        (EVIL.replace("\r\n", "\n"), "without a carriage return"),
        (GOOD.replace("Host:", "Host: good.example\r\n :"), "cannot be read"),
        (GOOD.replace("Host:", "Host :"), "cannot be read"),
        (GOOD.replace("Host:", "A\r\nHost:"), "no colon"),
        (GOOD.replace("HTTP/1.1", "HTTP/1.1 x"), "cannot be checked"),
        (GOOD.replace("HTTP/1.1", "http/1.1"), "cannot be checked"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), "cannot be checked"),
        (post("Upgrade: h2c", ""), "HTTP/2 without TLS"),
        (post("Content-Length: 3", &format!("abc{EVIL}")), "asks for 'evil.example'"),
        (post("Content-Length: 3\r\nContent-Length: 90", ""), "cannot be told"),
        (post("Content-Length: +3", ""), "cannot be told"),
        (post("Content-Length: 3\r\nTransfer-Encoding: chunked", ""), "cannot be told"),
        (post("Transfer-Encoding: gzip, chunked", ""), "cannot be told"),
        (post("Transfer-Encoding: chunked", &format!("1\r\nx\r\n0\r\n\r\n{EVIL}")), "asks for 'evil.example'"),
        (post("Transfer-Encoding: chunked", "0x1\r\nx\r\n0\r\n\r\n"), "a chunk"),
        (post("Transfer-Encoding: chunked", "1\r\nxy\r\n0\r\n\r\n"), "a chunk"),
        (post("Upgrade: websocket", EVIL), "asks for 'evil.example'"),
        (format!("{GOOD}{}", post("Upgrade: websocket", "")), "in a later request"),
        (post(&format!("A: {}", "x".repeat(1 << 16)), ""), "too long"),
    ] {
        let (sent, refused) = passed(&stream, Some(false)).await;
        assert!(refused.as_deref().is_some_and(|refused| refused.contains(reason)), "{stream:?}: {refused:?}");
        assert!(!sent.contains("evil.example\r\n\r\n") && !sent.contains("Host: evil"), "{stream:?}: {sent}");
    }
}

#[tokio::test]
async fn other_protocols_pass_and_so_does_an_accepted_upgrade() {
    for stream in [
        "SSH-2.0-OpenSSH_9\r\nanything",
        "EHLO x\r\nHost: evil.example\r\n",
        "\u{1}\u{2}GET / HTTP/1.1\r\n",
        "no end of line",
        "*1\r\n$4\r\nPING\r\n",
    ] {
        assert_eq!(passed(stream, None).await, (stream.to_owned(), None));
    }
    let upgrade = GOOD.replace("\r\n\r\n", "\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n\u{1}frames, no more HTTP");
    assert_eq!(passed(&upgrade, Some(true)).await, (upgrade.clone(), None));
}
