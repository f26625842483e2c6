//! Retrieval, scored: notes and questions that are made here, from tables of facts. Recall at 6 and the mean reciprocal rank are
//! printed for full text alone, and for both with a test service of embeddings on loopback.
//!
//! Each note is about one subject and shares its form and most of its words with others, so that finding it takes the words that
//! matter. Questions are of five kinds.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use haft_contract::BoxFuture;
use haft_memory::{Embedder, EmbedderError};

use super::world::World;

/// What the notes are about: a service, what it does, in other words, its owner, a setting of it.
const SERVICES: [(&str, &str, &str, &str, &str); 25] = [
    ("billing", "sends invoices to customers", "bills clients", "Ann Keller", "invoice_batch_size"),
    ("search", "finds products by keyword", "looks up goods by word", "Bob Stone", "maxQueryTerms"),
    ("mailer", "delivers newsletters", "posts bulletins by email", "Carla Diaz", "smtp_retry_limit"),
    ("login", "checks passwords and tokens", "authenticates people", "Deniz Acar", "sessionTokenLifetime"),
    ("storage", "keeps uploaded pictures", "holds images that users send", "Emil Novak", "blob_chunk_bytes"),
    ("reports", "draws charts for managers", "plots figures for executives", "Fatou Sow", "chartRenderThreads"),
    ("cart", "remembers chosen articles", "holds the shopping basket", "Goran Ilic", "cart_expiry_minutes"),
    ("shipping", "prints parcel labels", "makes stickers for packages", "Hana Sato", "labelPrinterQueue"),
    ("stock", "counts goods in warehouses", "tallies inventory", "Igor Petrov", "reorder_threshold"),
    ("chat", "connects support agents", "lets helpers talk to users", "Julia Weber", "maxParallelChats"),
    ("gateway", "routes requests from phones", "forwards calls of mobile apps", "Kofi Mensah", "upstream_timeout_ms"),
    ("scheduler", "starts nightly jobs", "triggers tasks after midnight", "Lena Fuchs", "cronWorkerCount"),
    ("audit", "records administrator actions", "logs what admins do", "Marco Rossi", "audit_retention_days"),
    ("payments", "charges credit cards", "takes money from plastic", "Nadia Haddad", "cardAuthRetries"),
    ("pricing", "computes discounts", "works out rebates", "Oskar Lind", "discount_rounding_mode"),
    ("catalog", "describes articles in shops", "holds product texts", "Priya Nair", "catalogSyncInterval"),
    ("maps", "shows stores nearby", "displays close branches", "Quinn Murphy", "tile_cache_megabytes"),
    ("video", "converts film clips", "transcodes footage", "Rosa Lima", "ffmpegPresetName"),
    ("export", "writes spreadsheets", "produces tables for accountants", "Sven Olsen", "csv_delimiter_char"),
    ("import", "reads supplier files", "ingests vendor lists", "Tomas Kral", "importBatchTimeout"),
    ("alerts", "wakes engineers at night", "pages people on call", "Uma Rao", "pager_escalation_delay"),
    ("backup", "copies databases offsite", "duplicates data elsewhere", "Viktor Balog", "snapshotRetentionWeeks"),
    ("proxy", "caches pages for browsers", "keeps copies near readers", "Wanda Nowak", "edge_cache_ttl"),
    ("sandbox", "isolates customer scripts", "confines code of clients", "Xavier Roux", "seccompProfilePath"),
    ("metrics", "collects counters of servers", "gathers numbers from hosts", "Yara Silva", "scrape_interval_seconds"),
];
const CITIES: [&str; 10] = ["Lisbon", "Oslo", "Vienna", "Prague", "Madrid", "Dublin", "Athens", "Warsaw", "Zagreb", "Tallinn"];
const CHOICES: [&str; 10] =
    ["PostgreSQL", "RabbitMQ", "Kubernetes", "Terraform", "Elasticsearch", "Memcached", "Prometheus", "Cassandra", "Grafana", "Ansible"];
const REASONS: [&str; 5] = ["because of cost", "for its community", "after two outages", "to share knowledge", "since the licence changed"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Exact,
    Paraphrase,
    Typo,
    Identifier,
    Date,
}

const KINDS: [(Kind, &str); 5] = [
    (Kind::Exact, "exact"),
    (Kind::Paraphrase, "paraphrase"),
    (Kind::Typo, "typo"),
    (Kind::Identifier, "identifier"),
    (Kind::Date, "date"),
];

struct Asked {
    kind: Kind,
    text: String,
    /// The file that has the answer.
    path: String,
}

/// The day of a note; no two notes have the same.
fn day(number: usize) -> jiff::civil::Date {
    jiff::civil::date(2025, 1, 6).checked_add(jiff::Span::new().days(i64::try_from(number * 2).unwrap())).unwrap()
}

/// 225 notes: for each service what it is, and eight days in its life.
fn notes() -> Vec<(String, String)> {
    let mut notes = Vec::new();
    for (at, (name, does, _, owner, setting)) in SERVICES.iter().enumerate() {
        let city = CITIES[at % CITIES.len()];
        notes.push((
            format!("memory/services/{name}.md"),
            format!("# The {name} service\n\nThe {name} service {does}. {owner} owns it and works in {city}.\n\nIts setting `{setting}` matters most; ask before you change it.\n"),
        ));
        for visit in 0..8 {
            let date = day(at * 8 + visit);
            let (choice, reason) = (CHOICES[(at + visit * 3) % CHOICES.len()], REASONS[(at * 2 + visit) % REASONS.len()]);
            let mut text = format!("# Notes of the day\n\nMeeting about the {name} service with {owner}.\n\n");
            writeln!(text, "We decided to move {name} to {choice} {reason}. The work starts next week and takes {} days.", 3 + visit)
                .unwrap();
            writeln!(text, "\nOpen question: who updates the documentation of {name}?").unwrap();
            notes.push((format!("memory/{date}.md"), text));
        }
    }
    notes
}

/// Five questions for each service.
fn questions() -> Vec<Asked> {
    let mut questions = Vec::new();
    for (at, (name, does, other, owner, setting)) in SERVICES.iter().enumerate() {
        let page = format!("memory/services/{name}.md");
        let mut ask = |kind, text: String, path: &str| questions.push(Asked { kind, text, path: path.to_owned() });
        ask(Kind::Exact, format!("Which service {does}?"), &page);
        ask(Kind::Paraphrase, format!("what {other}"), &page);
        ask(
            Kind::Typo,
            format!("{} {} works in", misspelled(owner.split(' ').next().unwrap()), misspelled(owner.split(' ').nth(1).unwrap())),
            &page,
        );
        let spelled = if at % 2 == 0 { (*setting).to_owned() } else { spaced(setting) };
        ask(Kind::Identifier, format!("what is {spelled}"), &page);
        let date = day(at * 8 + at % 8);
        let written = match at % 4 {
            0 => date.to_string(),
            1 => date.strftime("%d %B %Y").to_string(),
            2 => date.strftime("%B %d, %Y").to_string(),
            _ => date.strftime("%d.%m.%Y").to_string(),
        };
        ask(Kind::Date, format!("What did we decide on {written}?"), &format!("memory/{date}.md"));
    }
    questions
}

/// Two letters in the middle change places; in a short word one is doubled.
fn misspelled(word: &str) -> String {
    let mut chars: Vec<char> = word.chars().collect();
    let middle = chars.len() / 2;
    if chars.len() >= 5 && chars[middle] != chars[middle - 1] {
        chars.swap(middle - 1, middle);
    } else {
        chars.insert(middle, chars[middle]);
    }
    chars.into_iter().collect()
}

/// An identifier as words.
fn spaced(identifier: &str) -> String {
    let mut text = String::new();
    for ch in identifier.chars() {
        if ch.is_uppercase() {
            text.push(' ');
        }
        text.push(if ch == '_' { ' ' } else { ch.to_ascii_lowercase() });
    }
    text
}

/// Recall at 6 and the mean reciprocal rank, by kind.
async fn score(world: &World) -> Vec<(&'static str, f64, f64)> {
    let mut rows = Vec::new();
    let questions = questions();
    for (kind, name) in KINDS {
        let asked: Vec<&Asked> = questions.iter().filter(|asked| asked.kind == kind).collect();
        let (mut found, mut reciprocal) = (0.0, 0.0);
        for question in &asked {
            let hits = world.search(&question.text).await.hits;
            if let Some(rank) = hits.iter().position(|hit| hit.path == question.path) {
                found += 1.0;
                reciprocal += 1.0 / (rank as f64 + 1.0);
            }
        }
        rows.push((name, found / asked.len() as f64, reciprocal / asked.len() as f64));
    }
    rows
}

fn print(title: &str, rows: &[(&str, f64, f64)]) {
    println!("{title}");
    for (kind, recall, reciprocal) in rows {
        println!("  {kind:<11} recall@6 {recall:.2}   MRR {reciprocal:.2}");
    }
}

fn world(embedder: Option<Arc<dyn Embedder>>) -> World {
    let world = World::with(&[], None, embedder);
    for (path, text) in notes() {
        world.write(&path, text);
    }
    world
}

#[test]
fn the_set_is_as_large_as_it_says() {
    assert_eq!((notes().len(), questions().len()), (225, 125));
    let paths: std::collections::BTreeSet<String> = notes().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths.len(), 225, "every note has a name of its own");
    assert!(questions().iter().all(|question| paths.contains(&question.path)));
}

#[tokio::test]
async fn full_text_alone_finds_exact_misspelled_identifiers_and_dates() {
    let rows = score(&world(None)).await;
    print("full text alone", &rows);
    for (kind, recall, _) in rows.iter().filter(|(kind, ..)| *kind != "paraphrase") {
        assert!(*recall >= 0.85, "{kind}: {recall}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_embeddings_paraphrases_are_found_as_well() {
    let service = Service::start();
    let plain = score(&world(None)).await;
    let rows = score(&world(Some(Arc::new(service)))).await;
    print("full text and embeddings", &rows);
    let recall = |rows: &[(&str, f64, f64)], kind: &str| rows.iter().find(|row| row.0 == kind).unwrap().1;
    assert!(recall(&rows, "paraphrase") >= 0.85 && recall(&rows, "paraphrase") > recall(&plain, "paraphrase"), "{rows:?}");
    for (kind, recall, _) in &rows {
        assert!(*recall >= 0.85, "{kind}: {recall}");
    }
}

/// As with a file: the same questions, the same demands, and what changes is found.
#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread")]
async fn index_on_a_server_finds_the_same() {
    let server = haft_testkit::PostgresServer::start();
    let world = world(None).on_server(&server.schema("postgres"), None);
    let rows = score(&world).await;
    print("full text alone, on a server", &rows);
    for (kind, recall, _) in rows.iter().filter(|(kind, ..)| *kind != "paraphrase") {
        assert!(*recall >= 0.85, "{kind}: {recall}");
    }
    world.write("memory/new.md", "The lighthouse cook is called Ximena.\n");
    assert_eq!(world.found("Xiemna lighthouse").await, ["memory/new.md#L1"]);
    std::fs::remove_file(world.path("memory/new.md")).unwrap();
    assert!(!world.found("Ximena lighthouse").await.contains(&"memory/new.md#L1".to_owned()));
    assert!(!world.index().exists(), "nothing is in a file");
    let world = world.on_server(&server.schema("postgres"), Some(Arc::new(Service::start())));
    let rows = score(&world).await;
    print("full text and embeddings, on a server", &rows);
    for (kind, recall, _) in &rows {
        assert!(*recall >= 0.85, "{kind}: {recall}");
    }
}

/// A service of embeddings on loopback that speaks as OpenAI does: it knows what the services are called in other words.
struct Service {
    address: String,
}

impl Service {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        // Ends with the process of the test: nextest runs each in its own.
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(stream).unwrap_or(())));
        Self { address }
    }
}

/// One dimension for each service; a text points to those whose words it has.
fn vector(text: &str) -> Vec<f32> {
    let lower = text.to_lowercase();
    let has = |words: &str| words.split(' ').filter(|word| word.len() > 3 && lower.contains(&word.to_lowercase())).count() as f32;
    let mut vector: Vec<f32> = SERVICES.iter().map(|(_, does, other, ..)| has(does) + has(other)).collect();
    vector.push(0.3);
    vector
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let request: serde_json::Value = serde_json::from_slice(&body)?;
    let texts = request["input"].as_array().cloned().unwrap_or_default();
    let rows =
        texts.iter().enumerate().map(|(at, text)| serde_json::json!({"index": at, "embedding": vector(text.as_str().unwrap_or_default())}));
    let reply = serde_json::json!({"data": rows.collect::<Vec<_>>()}).to_string();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{reply}",
        reply.len()
    )
}

impl Embedder for Service {
    fn model(&self) -> &'static str {
        "loopback/test"
    }
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedderError>> {
        let (address, body) = (self.address.clone(), serde_json::json!({"model": "test", "input": texts}).to_string());
        let ask = move || -> std::io::Result<Vec<Vec<f32>>> {
            let mut stream = TcpStream::connect(address)?;
            write!(stream, "POST /embeddings HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}", body.len())?;
            let mut reply = String::new();
            stream.read_to_string(&mut reply)?;
            let value: serde_json::Value = serde_json::from_str(reply.split_once("\r\n\r\n").unwrap_or_default().1)?;
            let numbers = |row: &serde_json::Value| {
                row["embedding"].as_array().into_iter().flatten().map(|number| number.as_f64().unwrap_or(0.0) as f32).collect()
            };
            Ok(value["data"].as_array().into_iter().flatten().map(numbers).collect())
        };
        Box::pin(async move {
            let answered = tokio::task::spawn_blocking(ask).await.map_err(|error| EmbedderError(error.to_string()))?;
            answered.map_err(|error| EmbedderError(error.to_string()))
        })
    }
}
