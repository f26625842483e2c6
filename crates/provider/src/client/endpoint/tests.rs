use super::*;

fn joined(base: &str, path: &str) -> Result<String, String> {
    Endpoint::new(base).join(path, "").map(String::from).map_err(|error| error.message)
}

#[test]
fn paths_join_every_form_of_base_url() {
    for (base, path, url) in [
        ("https://api.example.com/v1", "/chat/completions", "https://api.example.com/v1/chat/completions"),
        ("https://api.example.com/v1/", "/chat/completions", "https://api.example.com/v1/chat/completions"),
        ("https://api.example.com/v1//", "chat/completions", "https://api.example.com/v1/chat/completions"),
        ("https://api.example.com", "/v1/messages", "https://api.example.com/v1/messages"),
        (" https://api.example.com \n", "/v1/messages", "https://api.example.com/v1/messages"),
        ("https://api.example.com:8443/a/b", "/c", "https://api.example.com:8443/a/b/c"),
        (
            "https://api.example.com/v1beta",
            "/models/gemini-2.5:streamGenerateContent?alt=sse",
            "https://api.example.com/v1beta/models/gemini-2.5:streamGenerateContent?alt=sse",
        ),
        ("https://api.example.com/openai?api-version=1", "/chat", "https://api.example.com/openai/chat?api-version=1"),
        ("https://api.example.com/openai/?api-version=1", "/chat?alt=sse", "https://api.example.com/openai/chat?alt=sse&api-version=1"),
        ("https://api.example.com/v1", "/models/a%2Fb", "https://api.example.com/v1/models/a%2Fb"),
        ("https://api.example.com/v1", "//evil.example/x", "https://api.example.com/v1/evil.example/x"),
        ("https://api.example.com/v1", "/@evil.example", "https://api.example.com/v1/@evil.example"),
        ("http://127.0.0.1:11434/v1", "/chat", "http://127.0.0.1:11434/v1/chat"),
        ("http://127.9.9.9/v1", "/chat", "http://127.9.9.9/v1/chat"),
        ("http://[::1]:8080", "/chat", "http://[::1]:8080/chat"),
        ("http://localhost:1234", "/chat", "http://localhost:1234/chat"),
        ("http://models.localhost", "/chat", "http://models.localhost/chat"),
    ] {
        assert_eq!(joined(base, path).as_deref(), Ok(url), "{base} + {path}");
    }
}

#[test]
fn invalid_base_url_is_refused_without_its_secrets() {
    let plain = "would send the key without encryption: use https, or set allow_plain_http = true for this provider.";
    for (base, path, message) in [
        ("", "/x", "base_url '' is not a URL: relative URL without a base. Write it as https://api.example.com/v1.".to_owned()),
        (
            "api.example.com/v1?key=s3cret",
            "/x",
            "base_url 'api.example.com/v1' is not a URL: relative URL without a base. Write it as https://api.example.com/v1.".to_owned(),
        ),
        (
            "ftp://api.example.com",
            "/x",
            "base_url 'ftp://api.example.com' is neither http nor https: write it as https://api.example.com/v1.".to_owned(),
        ),
        (
            "https://me:s3cret@api.example.com",
            "/x",
            "base_url 'https://api.example.com' contains a user name or password: remove them, and use a header if they are needed."
                .to_owned(),
        ),
        ("https://api.example.com/#s3cret", "/x", "base_url 'https://api.example.com/' contains a '#': remove it and the rest.".to_owned()),
        ("http://api.example.com", "/x", format!("base_url 'http://api.example.com' {plain}")),
        ("http://127.0.0.1.example.com", "/x", format!("base_url 'http://127.0.0.1.example.com' {plain}")),
        ("http://localhost.example.com", "/x", format!("base_url 'http://localhost.example.com' {plain}")),
        ("http://10.0.0.1", "/x", format!("base_url 'http://10.0.0.1' {plain}")),
        ("https://a.example/v1", "/../admin", "The path '/../admin' is outside of base_url. Check the model's name.".to_owned()),
        ("https://a.example/v1", "/%2e%2e/v2/x", "The path '/%2e%2e/v2/x' is outside of base_url. Check the model's name.".to_owned()),
        ("https://a.example/v1", "/a#b", "The path '/a#b' is outside of base_url. Check the model's name.".to_owned()),
    ] {
        assert_eq!(joined(base, path), Err(message), "{base} + {path}");
    }
    let mut allowed = Endpoint::new("http://api.example.com");
    allowed.allow_plain = true;
    assert_eq!(allowed.join("/x", "").map(String::from), Ok("http://api.example.com/x".to_owned()));
}

#[test]
fn endpoint_debug_form_has_no_secret() {
    let mut endpoint = Endpoint::new("https://me:s3cret@api.example.com/v1?key=s3cret");
    endpoint.key = Some(ApiKey::new("s3cret"));
    endpoint.headers = vec![("x-token".to_owned(), "s3cret".to_owned())];
    let expected = "Endpoint { base_url: \"https://api.example.com/v1\", key: Some(***), headers: [\"x-token\"], timeouts: Timeouts { \
                    connect: 10s, first_byte: 120s, idle: 60s, total: 600s }, allow_plain: false }";
    assert_eq!(format!("{endpoint:?}"), expected);
}

#[test]
fn loopback_hosts_are_recognized() {
    for (base, local) in [
        ("http://127.0.0.1:11434/v1", true),
        ("http://localhost./v1", true),
        ("http://[::1]:8080", true),
        ("https://api.example.com/v1", false),
        ("http://127.0.0.1.example.com/v1", false),
        ("http://192.168.0.1/v1", false),
        ("nonsense", false),
    ] {
        assert_eq!(Endpoint::new(base).is_local(), local, "{base}");
    }
}

#[test]
fn a_base_url_works_with_and_without_its_version() {
    let chat = "/chat/completions";
    for (base, protocol, path, first, other) in [
        ("https://h.example/v1", Protocol::OpenAi, chat, "https://h.example/v1/chat/completions", None),
        ("https://h.example/api/v4/", Protocol::OpenAi, chat, "https://h.example/api/v4/chat/completions", None),
        ("https://h.example", Protocol::OpenAi, chat, "https://h.example/v1/chat/completions", Some("https://h.example/chat/completions")),
        ("https://h.example/", Protocol::Anthropic, "/messages", "https://h.example/v1/messages", Some("https://h.example/messages")),
        (
            "https://h.example",
            Protocol::OpenAiResponses,
            "/responses",
            "https://h.example/v1/responses",
            Some("https://h.example/responses"),
        ),
        (
            "https://h.example?key=1",
            Protocol::Gemini,
            "/models/m:streamGenerateContent?alt=sse",
            "https://h.example/v1beta/models/m:streamGenerateContent?alt=sse&key=1",
            Some("https://h.example/models/m:streamGenerateContent?alt=sse&key=1"),
        ),
        (
            "https://h.example/api",
            Protocol::OpenAi,
            chat,
            "https://h.example/api/chat/completions",
            Some("https://h.example/api/v1/chat/completions"),
        ),
        (
            "https://h.example/video",
            Protocol::OpenAi,
            chat,
            "https://h.example/video/chat/completions",
            Some("https://h.example/video/v1/chat/completions"),
        ),
    ] {
        let (url, version) = Endpoint::new(base).urls(path, protocol).unwrap();
        assert_eq!((url.as_str(), version.as_ref().map(Url::as_str)), (first, other), "{base}");
    }
}
