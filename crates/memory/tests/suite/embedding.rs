//! Embeddings, and services that fail to give them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_contract::BoxFuture;
use haft_memory::{Embedder, EmbedderError};

use super::world::World;

/// How a service answers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Behaviour {
    /// Vectors of this dimension, by the meaning that the test gives words.
    Good(usize),
    Hangs,
    Refuses,
    NotANumber,
    TooFew,
    Zero,
    Uneven,
}

struct Service {
    behaviour: Behaviour,
    asked: AtomicUsize,
}

impl Service {
    fn new(behaviour: Behaviour) -> Arc<Self> {
        Arc::new(Self { behaviour, asked: AtomicUsize::new(0) })
    }
}

/// Cars and automobiles are the same thing, and so are doctors and physicians.
fn meaning(text: &str, dimension: usize) -> Vec<f32> {
    let lower = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let mut vector = vec![0.01; dimension];
    for (at, words) in [&["car", "automobile", "vehicle"][..], &["doctor", "physician"], &["weather", "rain"]].iter().enumerate() {
        vector[at] = if has(words) { 1.0 } else { 0.0 };
    }
    vector
}

impl Embedder for Service {
    fn model(&self) -> &'static str {
        "test/embed"
    }
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedderError>> {
        self.asked.fetch_add(texts.len(), Ordering::Relaxed);
        let behaviour = self.behaviour;
        Box::pin(async move {
            let good = |dimension: usize| texts.iter().map(|text| meaning(text, dimension)).collect::<Vec<_>>();
            match behaviour {
                Behaviour::Good(dimension) => Ok(good(dimension)),
                Behaviour::Hangs => std::future::pending().await,
                Behaviour::Refuses => Err(EmbedderError("test/embed failed: 429, too many requests".into())),
                Behaviour::NotANumber => Ok(texts.iter().map(|_| vec![f32::NAN, 1.0]).collect()),
                Behaviour::TooFew => Ok(good(8).into_iter().skip(1).collect()),
                Behaviour::Zero => Ok(texts.iter().map(|_| vec![0.0; 8]).collect()),
                Behaviour::Uneven => Ok(texts.iter().enumerate().map(|(at, text)| meaning(text, 4 + at)).collect()),
            }
        })
    }
}

const NOTES: &[(&str, &str)] = &[
    ("memory/a.md", "The automobile is in the garage.\n"),
    ("memory/b.md", "The physician said to rest.\n"),
    ("memory/c.md", "It will rain in the mountains.\n"),
];

#[tokio::test]
async fn meaning_finds_what_words_do_not() {
    let service = Service::new(Behaviour::Good(8));
    let world = World::with(NOTES, None, Some(service.clone()));
    let answer = world.search("where did I park the car").await;
    assert_eq!((answer.hits[0].path.as_str(), answer.model.as_deref(), answer.fallback), ("memory/a.md", Some("test/embed"), None));
    let asked = service.asked.load(Ordering::Relaxed);
    assert_eq!(world.found("doctor").await, ["memory/b.md#L1"]);
    assert_eq!(service.asked.load(Ordering::Relaxed), asked + 1, "notes that did not change are embedded once");
    world.write("memory/d.md", "The physician said to rest.\n");
    world.search("doctor").await;
    assert_eq!(service.asked.load(Ordering::Relaxed), asked + 2, "the same text has the same vector");
}

#[tokio::test]
async fn a_service_that_fails_leaves_full_text_and_says_so() {
    for (behaviour, why) in [
        (Behaviour::Hangs, "test/embed did not answer in 4s"),
        (Behaviour::Refuses, "429, too many requests"),
        (Behaviour::NotANumber, "answered with a vector that is zero or not a number"),
        (Behaviour::TooFew, "answered with 0 vectors for 1 texts"),
        (Behaviour::Zero, "answered with a vector that is zero or not a number"),
        (Behaviour::Uneven, "answered with vectors of different dimensions"),
    ] {
        let world = World::with(NOTES, None, Some(Service::new(behaviour)));
        let answer = world.search("automobile").await;
        assert_eq!((answer.hits[0].path.as_str(), answer.model), ("memory/a.md", None), "{behaviour:?}");
        let said = answer.fallback.unwrap();
        assert!(said.starts_with("Full text was searched alone, because ") && said.contains(why), "{behaviour:?}: {said}");
    }
}

#[tokio::test]
async fn vectors_of_another_dimension_are_made_anew() {
    let world = World::with(NOTES, None, Some(Service::new(Behaviour::Good(8))));
    world.search("car").await;
    let world = world.restart(Some(Service::new(Behaviour::Good(16))));
    let answer = world.search("where is the car").await;
    assert_eq!(answer.hits[0].path, "memory/a.md");
    assert_eq!(answer.warnings, ["test/embed gives vectors of another dimension than before: all embeddings are made anew."]);
    assert_eq!(world.search("car").await.warnings, Vec::<String>::new());
}
