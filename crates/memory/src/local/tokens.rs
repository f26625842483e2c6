//! Splits texts into the tokens of a model, as its `tokenizer.json` says: WordPiece with the rules of BERT.

use std::collections::HashMap;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The rest of a longer word is not looked up.
const LONGEST_WORD: usize = 100;

/// The tokens of a model, and how texts are split into them.
#[derive(Debug)]
pub(super) struct Tokenizer {
    vocabulary: HashMap<String, usize>,
    /// What begins a token that continues a word.
    prefix: String,
    is_lowercase: bool,
    strips_accents: bool,
}

impl Tokenizer {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let file: Value = serde_json::from_slice(bytes).map_err(|error| format!("it cannot be read: {error}"))?;
        let model = &file["model"];
        let kind = model["type"].as_str().unwrap_or("none");
        if kind != "WordPiece" {
            return Err(format!(
                "its tokens are of the kind '{kind}', and only WordPiece is supported. Run the model behind Ollama or LM Studio"
            ));
        }
        let vocabulary = model["vocab"].as_object().into_iter().flatten();
        let vocabulary: HashMap<String, usize> =
            vocabulary.filter_map(|(token, id)| Some((token.clone(), usize::try_from(id.as_u64()?).ok()?))).collect();
        if vocabulary.is_empty() {
            return Err("it has no tokens".to_owned());
        }
        let normalizer = &file["normalizer"];
        let is_lowercase = normalizer["lowercase"].as_bool().unwrap_or(true);
        Ok(Self {
            vocabulary,
            prefix: model["continuing_subword_prefix"].as_str().unwrap_or("##").to_owned(),
            is_lowercase,
            strips_accents: normalizer["strip_accents"].as_bool().unwrap_or(is_lowercase),
        })
    }

    /// The numbers of the known tokens of a text, at most so many.
    pub(super) fn tokens(&self, text: &str, most: usize) -> Vec<usize> {
        let mut found = Vec::new();
        for word in self.normalized(text).split(' ').filter(|word| !word.is_empty()) {
            if found.len() >= most {
                break;
            }
            self.split(word, &mut found);
        }
        found.truncate(most);
        found
    }

    /// The text with blanks around everything that is a word of its own.
    fn normalized(&self, text: &str) -> String {
        let mut normal = String::with_capacity(text.len() + 16);
        let mut push = |ch: char| {
            if is_punctuation(ch) || is_chinese(ch) {
                normal.extend([' ', ch, ' ']);
            } else if ch.is_whitespace() {
                normal.push(' ');
            } else if !ch.is_control() && ch != '\u{fffd}' {
                normal.push(ch);
            }
        };
        let lower = |ch: char, push: &mut dyn FnMut(char)| {
            if self.is_lowercase { ch.to_lowercase().for_each(push) } else { push(ch) }
        };
        if self.strips_accents {
            text.nfd().filter(|ch| !is_combining_mark(*ch)).for_each(|ch| lower(ch, &mut push));
        } else {
            text.chars().for_each(|ch| lower(ch, &mut push));
        }
        normal
    }

    /// The longest tokens that make up a word; none if a part of it is no token.
    fn split(&self, word: &str, found: &mut Vec<usize>) {
        if word.chars().count() > LONGEST_WORD {
            return;
        }
        let known = found.len();
        let (mut rest, mut piece) = (word, String::new());
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, ch)| at + ch.len_utf8()).rev();
            let longest = ends.into_iter().find_map(|end| {
                piece.clear();
                if rest.len() < word.len() {
                    piece.push_str(&self.prefix);
                }
                piece.push_str(&rest[..end]);
                Some((end, *self.vocabulary.get(&piece)?))
            });
            let Some((end, token)) = longest else { return found.truncate(known) };
            found.push(token);
            rest = &rest[end..];
        }
    }
}

fn is_punctuation(ch: char) -> bool {
    ch.is_ascii_punctuation()
        || matches!(ch, '¡' | '§' | '«' | '¶' | '·' | '»' | '¿' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{3001}'..='\u{3003}')
        || matches!(ch, '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}')
}

fn is_chinese(ch: char) -> bool {
    matches!(ch, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2a6df}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const VOCABULARY: [&str; 14] = ["[UNK]", "the", "un", "##aff", "##able", "##s", "cafe", "data", "##base", "中", "!", ".", "x", "café"];

    fn tokenizer(normalizer: &Value) -> Tokenizer {
        let vocab: serde_json::Map<String, Value> = VOCABULARY.iter().enumerate().map(|(id, token)| ((*token).into(), id.into())).collect();
        let file = json!({"normalizer": normalizer, "model": {"type": "WordPiece", "continuing_subword_prefix": "##", "vocab": vocab}});
        Tokenizer::parse(file.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn texts_are_split_into_the_longest_tokens() {
        let bert = tokenizer(&json!({"type": "BertNormalizer", "lowercase": true, "strip_accents": null}));
        let cased = tokenizer(&json!({"type": "BertNormalizer", "lowercase": false, "strip_accents": false}));
        for (tokenizer, text, expected) in [
            (&bert, "The unaffable databases!", &["the", "un", "##aff", "##able", "data", "##base", "##s", "!"][..]),
            (&bert, "Café\u{301} cafe\u{301}", &["cafe", "cafe"]),
            (&bert, "中中x.x", &["中", "中", "x", ".", "x"]),
            (&bert, "zebra the", &["the"]),
            (&bert, "unaffzebra", &[]),
            (&bert, "\0the\u{fffd}\t\nthe\u{7}", &["the", "the"]),
            (&bert, "", &[]),
            (&cased, "The the café", &["the", "café"]),
        ] {
            let found: Vec<&str> = tokenizer.tokens(text, 99).into_iter().map(|id| VOCABULARY[id]).collect();
            assert_eq!(found, expected, "{text:?}");
        }
        assert_eq!(bert.tokens(&"the ".repeat(1_000), 7).len(), 7);
        assert_eq!(bert.tokens(&"x".repeat(1 << 20), 7), Vec::<usize>::new(), "no word is that long");
    }

    #[test]
    fn other_kinds_of_tokens_are_refused() {
        for (file, why) in [
            ("{", "cannot be read"),
            ("{}", "of the kind 'none'"),
            (r#"{"model":{"type":"Unigram"}}"#, "of the kind 'Unigram'"),
            (r#"{"model":{"type":"WordPiece","vocab":{}}}"#, "no tokens"),
        ] {
            let said = Tokenizer::parse(file.as_bytes()).unwrap_err();
            assert!(said.contains(why), "{why}: {said}");
        }
    }
}
