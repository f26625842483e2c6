//! Embeddings of a model in a folder on this machine: one vector for each token, of which a text has the mean (the form of model2vec).
//!
//! Such a model needs no arithmetic but a sum, so it is read here, without a library that runs models: the tokens of `tokenizer.json` and
//! the vectors of `model.safetensors`. What such a model cannot do, a service does better than this process could.

mod tensors;
mod tokens;

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::BoxFuture;

use self::tensors::Tensors;
use self::tokens::Tokenizer;
use crate::embeddings::{Embedder, EmbedderError};

const TOKENS: &str = "tokenizer.json";
const VECTORS: &str = "model.safetensors";
const MOST_TOKEN_BYTES: u64 = 64 << 20;
const MOST_VECTOR_BYTES: u64 = 512 << 20;
/// More tokens of a text do not change its mean much.
const MOST_TOKENS: usize = 512;

/// A model in a folder. It is read on first use.
#[derive(Debug)]
pub struct LocalEmbedder {
    folder: PathBuf,
    /// `local/`, the name of the folder, and what changes with its vectors.
    model: String,
    loaded: Arc<Mutex<Option<Arc<StaticModel>>>>,
}

impl LocalEmbedder {
    /// The model in a folder; fails if there is none.
    pub fn open(folder: &Path) -> Result<Self, String> {
        let stamp = |name: &str| {
            let found = folder.join(name).metadata();
            found.map(|facts| (facts.len(), facts.modified().ok())).map_err(|error| format!("{}: {error}", folder.join(name).display()))
        };
        let mut hasher = DefaultHasher::new();
        (stamp(TOKENS)?, stamp(VECTORS)?).hash(&mut hasher);
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let model = format!("local/{name}-{:08x}", hasher.finish() >> 32);
        Ok(Self { folder: folder.to_owned(), model, loaded: Arc::default() })
    }
}

impl Embedder for LocalEmbedder {
    fn model(&self) -> &str {
        &self.model
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedderError>> {
        let (folder, loaded, texts) = (self.folder.clone(), Arc::clone(&self.loaded), texts.to_vec());
        let work = tokio::task::spawn_blocking(move || {
            let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
            let model = match &*loaded {
                Some(model) => Arc::clone(model),
                None => Arc::clone(loaded.insert(Arc::new(StaticModel::read(&folder)?))),
            };
            drop(loaded);
            Ok(texts.iter().map(|text| model.vector(text)).collect())
        });
        Box::pin(async move {
            let done = work.await.map_err(|_| EmbedderError(format!("{} was stopped", self.model)))?;
            done.map_err(|why: String| EmbedderError(format!("the model in {} cannot be used: {why}", self.folder.display())))
        })
    }
}

/// A model in memory.
#[derive(Debug)]
struct StaticModel {
    tokenizer: Tokenizer,
    tensors: Tensors,
}

impl StaticModel {
    fn read(folder: &Path) -> Result<Self, String> {
        let tokenizer = Tokenizer::parse(&read(&folder.join(TOKENS), MOST_TOKEN_BYTES)?).map_err(|why| format!("{TOKENS}: {why}"))?;
        let tensors = Tensors::parse(read(&folder.join(VECTORS), MOST_VECTOR_BYTES)?).map_err(|why| format!("{VECTORS}: {why}"))?;
        Ok(Self { tokenizer, tensors })
    }

    /// The mean of the vectors of a text's tokens.
    fn vector(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.tensors.dimension()];
        let mut is_known = false;
        for token in self.tokenizer.tokens(text, MOST_TOKENS) {
            is_known |= self.tensors.add(token, &mut sum);
        }
        // A text without a known token has a direction, too: that of its like.
        if let Some(last) = sum.last_mut().filter(|_| !is_known) {
            *last = 1.0;
        }
        sum
    }
}

fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    if size > most {
        return Err(format!(
            "{} has {}, and at most {} are read",
            path.display(),
            haft_text::numbers::size(size),
            haft_text::numbers::size(most)
        ));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A model of four tokens with vectors of three numbers.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let vocab = json!({"car": 0, "automobile": 1, "rain": 2, "##s": 3});
        let tokenizer = json!({"normalizer": {"lowercase": true}, "model": {"type": "WordPiece", "vocab": vocab}});
        std::fs::write(folder.path().join(TOKENS), tokenizer.to_string()).unwrap();
        let numbers: [f32; 12] = [1.0, 0.0, 0.0, 0.9, 0.1, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.1];
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let table = json!({"embeddings": {"dtype": "F32", "shape": [4, 3], "data_offsets": [0, bytes.len()]}}).to_string();
        std::fs::write(folder.path().join(VECTORS), [&(table.len() as u64).to_le_bytes()[..], table.as_bytes(), &bytes].concat()).unwrap();
        folder
    }

    #[tokio::test]
    async fn texts_of_like_meaning_have_like_vectors() {
        let folder = folder();
        let model = LocalEmbedder::open(folder.path()).unwrap();
        let texts = ["Cars", "the automobile", "rain", "?"].map(str::to_owned);
        let vectors = model.embed(&texts).await.unwrap();
        assert_eq!(vectors, [vec![1.0, 0.0, 0.1], vec![0.9, 0.1, 0.0], vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]]);
        assert!(model.model().starts_with("local/."), "{}", model.model());
    }

    #[tokio::test]
    async fn a_folder_without_a_model_is_refused_and_one_with_a_bad_model_says_why() {
        let empty = tempfile::tempdir().unwrap();
        assert!(LocalEmbedder::open(empty.path()).unwrap_err().contains("tokenizer.json: No such file"));
        let folder = folder();
        let before = LocalEmbedder::open(folder.path()).unwrap().model;
        std::fs::write(folder.path().join(VECTORS), "nonsense, and longer than it was before by some bytes").unwrap();
        let changed = LocalEmbedder::open(folder.path()).unwrap();
        assert_ne!(changed.model, before, "other vectors are another model");
        let EmbedderError(why) = changed.embed(&["car".to_owned()]).await.unwrap_err();
        assert!(why.starts_with("the model in ") && why.contains("cannot be used: model.safetensors: its table is too long"), "{why}");
    }
}
