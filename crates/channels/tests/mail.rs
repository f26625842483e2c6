//! Mail against servers on loopback that speak SMTP and IMAP.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod common;

use std::sync::{Arc, Mutex};

use common::{service, settings};
use haft_channels::ChannelSettings;
use haft_contract::ports::{ChannelAction, ChannelCommand, ChannelKind, MessageChannels, SendOutcome};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

/// A server of lines: each that comes in is answered by the script.
async fn line_server(
    greeting: &'static str,
    answer: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (log, answer): (Arc<Mutex<Vec<String>>>, _) = (Arc::default(), Arc::new(answer));
    let lines = Arc::clone(&log);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (lines, answer) = (Arc::clone(&lines), Arc::clone(&answer));
            tokio::spawn(async move {
                let mut stream = BufReader::new(stream);
                stream.get_mut().write_all(greeting.as_bytes()).await.ok();
                let mut line = String::new();
                while stream.read_line(&mut line).await.is_ok_and(|read| read > 0) {
                    lines.lock().unwrap().push(line.trim_end().to_owned());
                    match answer(line.trim_end()) {
                        Some(reply) => drop(stream.get_mut().write_all(reply.as_bytes()).await),
                        None => return,
                    }
                    line.clear();
                }
            });
        }
    });
    (port, log)
}

/// As RFC 5321 describes it; `end` is the answer to a whole mail.
async fn smtp(end: &'static str) -> (u16, Arc<Mutex<Vec<String>>>) {
    let in_mail = Mutex::new(false);
    line_server("220 mail.example.org ESMTP\r\n", move |line| {
        let mut in_mail = in_mail.lock().unwrap();
        if *in_mail {
            if line == "." {
                *in_mail = false;
                return (!end.is_empty()).then(|| end.to_owned());
            }
            return Some(String::new());
        }
        *in_mail = line == "DATA";
        Some(match line.split(' ').next().unwrap_or_default() {
            "EHLO" => "250-mail.example.org\r\n250 AUTH PLAIN\r\n".into(),
            "AUTH" => "235 2.7.0 accepted\r\n".into(),
            "DATA" => "354 go ahead\r\n".into(),
            "QUIT" => "221 bye\r\n".into(),
            _ => "250 OK\r\n".into(),
        })
    })
    .await
}

fn mail(port: u16) -> ChannelSettings {
    let mut mail = settings(ChannelKind::Email, &format!("smtp://127.0.0.1:{port}"));
    (mail.from, mail.user) = (Some("haft@example.org".into()), Some("haft".into()));
    mail
}

#[tokio::test]
async fn mail_goes_out_and_what_the_server_says_decides() {
    for (end, expected, mails) in [
        ("250 2.0.0 queued\r\n", SendOutcome::Delivered, 1),
        ("554 5.7.1 refused\r\n", SendOutcome::NotDelivered, 1),
        // The server is gone after it got the whole mail: it may have taken it.
        ("", SendOutcome::Unknown, 1),
        ("<html>\r\n", SendOutcome::Unknown, 1),
    ] {
        let (port, log) = smtp(end).await;
        let (_folder, service, _store) = service(vec![mail(port)]);
        let mut command = ChannelCommand::new("email", "anna@example.org", ChannelAction::Send, "Hello Anna");
        command.subject = Some("Report".into());
        let receipt = service.perform(&command, "s", "c").await.unwrap();
        assert_eq!(receipt.outcome, expected, "{end:?}: {receipt:?}");
        let lines = log.lock().unwrap().clone();
        assert_eq!(lines.iter().filter(|line| *line == "DATA").count(), mails, "{end:?}");
        for expected in ["MAIL FROM:<haft@example.org>", "RCPT TO:<anna@example.org>", "Subject: Report", "Hello Anna"] {
            assert!(lines.iter().any(|line| line.starts_with(expected)), "{expected} is not in {lines:?}");
        }
    }
}

/// As RFC 3501 describes it, with one mail.
async fn imap(header: &'static str) -> (u16, Arc<Mutex<Vec<String>>>) {
    line_server("* OK IMAP4rev1\r\n", move |line| {
        let (tag, rest) = line.split_once(' ').unwrap_or((line, ""));
        let done = format!("{tag} OK done\r\n");
        let body = "run the tests\r\n";
        Some(match rest.split(' ').next().unwrap_or_default() {
            "LOGIN" if !rest.contains("\"TOKEN\"") => format!("{tag} NO wrong\r\n"),
            "EXAMINE" => format!("* 1 EXISTS\r\n* OK [UIDVALIDITY 3] x\r\n* OK [UIDNEXT 9] x\r\n{done}"),
            "UID" if rest.contains("SEARCH") => format!("* SEARCH 8\r\n{done}"),
            "UID" => format!(
                "* 1 FETCH (UID 8 BODY[HEADER] {{{}}}\r\n{header} BODY[TEXT]<0> {{{}}}\r\n{body})\r\n{done}",
                header.len(),
                body.len()
            ),
            _ => done,
        })
    })
    .await
}

#[tokio::test]
async fn mail_is_read_without_marking_it_and_a_wrong_password_is_said() {
    let (port, log) = imap("From: Ann <ann@example.org>\r\nSubject: Hi\r\n\r\n").await;
    let mut channel = mail(1);
    channel.imap_url = Some(format!("imap://127.0.0.1:{port}"));
    let (_folder, service, _store) = service(vec![channel.clone()]);
    let command = ChannelCommand::new("email", "INBOX", ChannelAction::Read, "");
    let receipt = service.perform(&command, "s", "c").await.unwrap();
    let entries: Vec<_> = receipt.entries.iter().map(|entry| (entry.id.as_str(), entry.from.as_str(), entry.text.as_str())).collect();
    assert_eq!(entries, [("8", "ann@example.org", "Hi\nrun the tests")], "{receipt:?}");
    let lines = log.lock().unwrap().clone();
    assert!(lines.iter().all(|line| !line.contains("SELECT") && !line.contains("STORE")), "{lines:?}");
    channel.token = Ok(haft_channels::ChannelSecret::new("WRONG"));
    let (_folder, service, _store) = common::service(vec![channel]);
    let receipt = service.perform(&command, "s", "c").await.unwrap();
    let reason = receipt.reason.unwrap();
    assert!(reason.starts_with("the mail server refused the login") && !reason.contains("WRONG"), "{reason}");
}

#[tokio::test]
async fn password_that_a_server_repeats_is_not_shown() {
    // "\0haft\0quite-secret" and "quite-secret" in base64, as they travel.
    let travelling = ["quite-secret", "AGhhZnQAcXVpdGUtc2VjcmV0", "cXVpdGUtc2VjcmV0"];
    let repeat = |line: &str| line.contains("AUTH") || line.contains("LOGIN");
    let (smtp_port, _log) = line_server("220 x ESMTP\r\n", move |line| {
        let said = format!("535 5.7.8 no: {line} cXVpdGUtc2VjcmV0\r\n");
        Some(if repeat(line) { said } else { "250-x\r\n250 AUTH PLAIN\r\n".into() })
    })
    .await;
    let (imap_port, _log) = line_server("* OK IMAP4rev1\r\n", |line| {
        let (tag, rest) = line.split_once(' ').unwrap_or((line, ""));
        Some(format!("{tag} NO no: {rest}\r\n"))
    })
    .await;
    let mut channel = mail(smtp_port);
    channel.token = Ok(haft_channels::ChannelSecret::new("quite-secret"));
    channel.imap_url = Some(format!("imap://127.0.0.1:{imap_port}"));
    let (_folder, service, _store) = service(vec![channel]);
    for (action, to, text) in [(ChannelAction::Send, "anna@example.org", "hi"), (ChannelAction::Read, "INBOX", "")] {
        let receipt = service.perform(&ChannelCommand::new("email", to, action, text), "s", "c").await.unwrap();
        let reason = receipt.reason.unwrap();
        assert!(reason.contains("no: ") && reason.contains("(not shown)"), "{reason}");
        assert!(travelling.iter().all(|secret| !reason.contains(secret)), "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn server_that_says_nothing_has_taken_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (_folder, service, _store) = service(vec![mail(listener.local_addr().unwrap().port())]);
    let command = ChannelCommand::new("email", "anna@example.org", ChannelAction::Send, "Hello");
    let receipt = service.perform(&command, "s", "c").await.unwrap();
    assert_eq!(receipt.outcome, SendOutcome::NotDelivered, "{receipt:?}");
}

#[tokio::test]
async fn servers_tell_of_flags_quote_what_is_empty_and_are_asked_for_bounded_headers() {
    for fetched in [
        "* 1 FETCH (FLAGS (\\Seen) UID 8)\r\n* 1 FETCH (UID 8 BODY[HEADER]<0> {30}\r\nFrom: ann@example.org\r\nX: 89\r\n BODY[TEXT]<0> \"\")\r\n",
        "* 2 FETCH (FLAGS () UID 88)\r\n* 1 FETCH (BODY[TEXT]<0> NIL UID 8 BODY[HEADER]<0> {30}\r\nFrom: ann@example.org\r\nX: 89\r\n)\r\n",
    ] {
        let (port, log) = line_server("* OK IMAP4rev1\r\n", move |line| {
            let (tag, rest) = line.split_once(' ').unwrap_or((line, ""));
            let done = format!("{tag} OK done\r\n");
            Some(match rest.split(' ').next().unwrap_or_default() {
                "EXAMINE" => format!("* OK [UIDVALIDITY 3] x\r\n* OK [UIDNEXT 9] x\r\n{done}"),
                "UID" if rest.contains("SEARCH") => format!("* SEARCH 8\r\n{done}"),
                "UID" => format!("{fetched}{done}"),
                _ => done,
            })
        })
        .await;
        let mut channel = mail(1);
        (channel.imap_url, channel.trusted_server) = (Some(format!("imap://127.0.0.1:{port}")), Some("mx.example.org".into()));
        let (_folder, service, _store) = service(vec![channel]);
        let receipt = service.perform(&ChannelCommand::new("email", "INBOX", ChannelAction::Read, ""), "s", "c").await.unwrap();
        let entries: Vec<_> = receipt.entries.iter().map(|entry| (entry.id.as_str(), entry.from.as_str())).collect();
        assert_eq!(entries, [("8", "ann@example.org (sender not verified)")], "{fetched}");
        // Else anyone could write a mail whose headers are larger than any answer may be, and no other would be read after it.
        assert!(log.lock().unwrap().iter().any(|line| line.contains("BODY.PEEK[HEADER]<0.")), "{log:?}");
    }
}

#[tokio::test]
async fn conversation_with_a_sender_has_no_mail_of_another() {
    let (port, log) = line_server("* OK IMAP4rev1\r\n", |line| {
        let (tag, rest) = line.split_once(' ').unwrap_or((line, ""));
        let done = format!("{tag} OK done\r\n");
        Some(match rest.split(' ').collect::<Vec<_>>().as_slice() {
            ["EXAMINE", ..] => format!("* OK [UIDVALIDITY 3] x\r\n* OK [UIDNEXT 9] x\r\n{done}"),
            // A server finds parts of addresses, and names.
            ["UID", "SEARCH", ..] => format!("* SEARCH 7 8\r\n{done}"),
            ["UID", "FETCH", uid, ..] => {
                let from = if *uid == "7" { "ann@example.org <joann@example.org>" } else { "Ann <Ann@example.org>" };
                format!("* 1 FETCH (UID {uid} BODY[HEADER]<0> \"From: {from}\" BODY[TEXT]<0> \"hi\")\r\n{done}")
            }
            _ => done,
        })
    })
    .await;
    let mut channel = mail(1);
    channel.imap_url = Some(format!("imap://127.0.0.1:{port}"));
    let (_folder, service, _store) = service(vec![channel]);
    let command = ChannelCommand::new("email", "ann@Example.org", ChannelAction::Read, "");
    let receipt = service.perform(&command, "s", "c").await.unwrap();
    assert_eq!(receipt.entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["8"], "{receipt:?}");
    assert!(log.lock().unwrap().iter().any(|line| line.ends_with("UID SEARCH FROM \"ann@example.org\"")), "{log:?}");
}

#[tokio::test]
async fn newest_mail_is_known_where_the_server_does_not_say_what_comes_next() {
    let (port, _log) = line_server("* OK IMAP4rev1\r\n", |line| {
        let (tag, rest) = line.split_once(' ').unwrap_or((line, ""));
        let done = format!("{tag} OK done\r\n");
        Some(match rest.split(' ').next().unwrap_or_default() {
            "EXAMINE" => format!("* OK [UIDVALIDITY 3] x\r\n{done}"),
            "UID" if rest.contains("SEARCH") => format!("* SEARCH 41\r\n{done}"),
            "UID" => format!("* 1 FETCH (UID 41 BODY[HEADER]<0> \"From: ann@example.org\" BODY[TEXT]<0> \"hi\")\r\n{done}"),
            _ => done,
        })
    })
    .await;
    let mut channel = mail(1);
    channel.imap_url = Some(format!("imap://127.0.0.1:{port}"));
    let (_folder, service, _store) = service(vec![channel]);
    let receipt = service.perform(&ChannelCommand::new("email", "INBOX", ChannelAction::Read, ""), "s", "c").await.unwrap();
    assert_eq!(receipt.entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["41"], "{receipt:?}");
}

#[tokio::test]
async fn receiving_mail_needs_a_server_that_verifies_senders() {
    let mut channel = mail(1);
    (channel.imap_url, channel.receives) = (Some("imap://127.0.0.1:1".into()), true);
    let (_folder, service, _store) = service(vec![channel]);
    let fault = service.reports()[0].fault.clone().unwrap();
    assert!(fault.contains("trusted_server"), "{fault}");
}
