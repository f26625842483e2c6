//! Tricky URLs: each has one reading, which is the one that is connected to, or none.

use haft_contract::ports::HttpClient;
use haft_host::GuardedClient;

const URLS: &str = include_str!("data/urls.tsv");

fn reading(client: &GuardedClient, url: &str) -> String {
    match client.locate("GET", url) {
        Ok(connect) => format!("{}:{}{}", connect.host, connect.port, if connect.refused.is_some() { " closed" } else { "" }),
        Err(_) => "refused".to_owned(),
    }
}

#[test]
fn every_url_has_its_one_reading() {
    let client = GuardedClient::default();
    let rows: Vec<(String, &str)> = URLS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_once('\t').unwrap())
        .map(|(url, expected)| (serde_json::from_str(url).unwrap(), expected))
        .collect();
    assert!(rows.len() >= 200, "{}", rows.len());
    let wrong: Vec<_> = rows
        .iter()
        .map(|(url, expected)| (url, expected, reading(&client, url)))
        .filter(|(_, expected, found)| *expected != found)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
