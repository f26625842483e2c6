//! The search providers, each against its recorded answer.

use haft::ports::SearchKey;
use haft::{Access, SearchEndpoint, SearchFields, SearchProvider};
use serde_json::{Value, json};

use crate::server::{Answers, Server, page};
use crate::world::{Setup, World, text};

async fn served(provider: SearchProvider, path: &'static str, content_type: &str, body: &str, fields: SearchFields) -> (Server, World) {
    let server = Server::start(Answers::from([(path.split('?').next().unwrap(), page(content_type, body))])).await;
    let url = if provider == SearchProvider::SearXng { server.url("") } else { server.url(path) };
    let search = Some(SearchEndpoint { provider, url, key: Some(SearchKey("k3y".into())), fields });
    // A search only reads, also where the provider wants a POST.
    let world = Setup { search, access: Access::ReadOnly, ..Setup::allowing([server.address]) }.open();
    (server, world)
}

async fn found(world: &World, arguments: Value) -> Value {
    let result = world.call("web_search", arguments).await;
    assert!(result.outcome.is_ok(), "{}", text(&result));
    result.details().unwrap()["results"].clone()
}

fn hit(title: &str, url: &str, description: &str, published: Option<&str>, site: &str) -> Value {
    json!({"title": title, "url": url, "description": description, "published": published, "site_name": site})
}

#[tokio::test]
async fn brave_is_asked_with_every_parameter_and_read() {
    let body = include_str!("data/brave.json");
    let (server, world) = served(SearchProvider::Brave, "/res/v1/web/search", "application/json", body, SearchFields::default()).await;
    let arguments = json!({"query": "rust axe", "count": 3, "country": "de", "search_lang": "en", "ui_lang": "en-US", "freshness": "pw"});
    assert_eq!(
        found(&world, arguments).await,
        json!([
            hit("Axe handles & hafts", "https://tools.test/hafts", "How to choose a handle.", Some("2026-10-30T00:00:00"), "tools.test"),
            hit("Rust on an axe", "https://forum.test/t/7", "Remove rust with vinegar.", Some("3 weeks ago"), "forum.test"),
        ])
    );
    let asked = &server.asked()[0];
    assert!(
        asked.starts_with("GET /res/v1/web/search?q=rust+axe&count=3&country=DE&search_lang=en&ui_lang=en-US&freshness=pw HTTP/1.1\r\n"),
        "{asked}"
    );
    assert!(asked.to_ascii_lowercase().contains("x-subscription-token: k3y"), "{asked}");
}

#[tokio::test]
async fn tavily_is_asked_with_a_body_and_read() {
    let body = include_str!("data/tavily.json");
    let (server, world) = served(SearchProvider::Tavily, "/search", "application/json", body, SearchFields::default()).await;
    let arguments = json!({"query": "axe", "allowed_domains": ["tools.test"], "freshness": "2026-01-01to2026-02-01"});
    assert_eq!(
        found(&world, arguments).await,
        json!([hit("Hafts", "https://www.tools.test/hafts", "Ash or hickory.", None, "www.tools.test")])
    );
    let asked = &server.asked()[0];
    let body: Value = serde_json::from_str(asked.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let expected =
        json!({"query": "axe", "max_results": 20, "include_domains": ["tools.test"], "start_date": "2026-01-01", "end_date": "2026-02-01"});
    assert_eq!(body, expected);
    assert!(asked.starts_with("POST /search HTTP/1.1") && asked.to_ascii_lowercase().contains("authorization: bearer k3y"), "{asked}");
}

#[tokio::test]
async fn searxng_is_asked_for_json_and_read() {
    let body = include_str!("data/searxng.json");
    let (server, world) = served(SearchProvider::SearXng, "/search", "application/json", body, SearchFields::default()).await;
    let results =
        found(&world, json!({"query": "axe", "blocked_domains": ["spam.test"], "search_lang": "de", "country": "DE", "freshness": "pm"}))
            .await;
    assert_eq!(results, json!([hit("Axt", "https://de.wiki.test/Axt", "Ein Werkzeug.", Some("2026-05-01T00:00:00"), "de.wiki.test")]));
    assert!(
        server.asked()[0].starts_with("GET /search?q=axe+-site%3Aspam.test&format=json&language=de-DE&time_range=month HTTP/1.1"),
        "{}",
        server.asked()[0]
    );
}

#[tokio::test]
async fn duckduckgo_is_read_from_its_page() {
    let body = include_str!("data/duckduckgo.html");
    let (server, world) = served(SearchProvider::DuckDuckGo, "/html/", "text/html", body, SearchFields::default()).await;
    let results = found(&world, json!({"query": "axe", "country": "us", "freshness": "pd"})).await;
    assert_eq!(
        results,
        json!([
            hit("Axe - Wiki", "https://wiki.test/Axe", "An axe is a tool with a haft.", None, "wiki.test"),
            hit("Axes & more", "https://shop.test/axes?a=1&b=2", "Buy an axe.", None, "shop.test"),
        ])
    );
    assert!(server.asked()[0].starts_with("GET /html/?q=axe&kl=us-en&df=d HTTP/1.1"), "{}", server.asked()[0]);

    let (_server, world) = served(SearchProvider::DuckDuckGo, "/html/", "text/html", "<p>Select all ducks", SearchFields::default()).await;
    let outcome = world.text("web_search", json!({"query": "axe"})).await;
    assert!(outcome.contains("DuckDuckGo may want to check that a human asks"), "{outcome}");
}

#[tokio::test]
async fn any_json_server_is_read_as_the_configuration_says() {
    let body = include_str!("data/custom.json");
    let fields = SearchFields {
        results: "data.items".into(),
        title: "name".into(),
        url: "link.href".into(),
        snippet: "text".into(),
        key_header: "X-Key".into(),
    };
    let (server, world) =
        served(SearchProvider::Json, "/find?words={query}&n={count}&since={freshness}", "application/json", body, fields).await;
    let results = found(&world, json!({"query": "axe & {count} ä"})).await;
    assert_eq!(results, json!([hit("Own index", "https://intra.test/1", "Found here.", None, "intra.test")]));
    let asked = &server.asked()[0];
    assert!(asked.starts_with("GET /find?words=axe+%26+%7Bcount%7D+%C3%A4&n=5&since= HTTP/1.1"), "{asked}");
    assert!(asked.to_ascii_lowercase().contains("x-key: k3y"), "{asked}");
}
