//! Splits texts and questions into the words that are searched: lower case, identifiers also in their parts, scripts without blanks in
//! pairs of characters, dates in one form.

use crate::dates;

/// Longer words are no words: a hash, a picture in base64.
const LONGEST: usize = 64;

/// The words of a text, in order. `max_open_files` and `maxOpenFiles` give the same words, whole and in parts.
pub fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    each_word(text, |word| found.push(word.to_owned()));
    found
}

/// Calls `each` with the words of a text, in order.
pub(crate) fn each_word(text: &str, mut each: impl FnMut(&str)) {
    let mut lower = String::new();
    let mut split = Vec::new();
    for token in text.split(|ch: char| !is_word(ch)) {
        let token = token.trim_matches(['_', '-', '.', '\'', '’']);
        if is_plain(token) {
            if !token.is_empty() && token.len() <= LONGEST {
                token.clone_into(&mut lower);
                lower.make_ascii_lowercase();
                each(&lower);
            }
        } else {
            split_token(token, &mut split);
            split.drain(..).for_each(|word| each(&word));
        }
    }
    for word in dates::date_words(text) {
        each(&word);
    }
}

/// Whether a token is one word that needs no splitting: most are, and they are the fast ones.
fn is_plain(token: &str) -> bool {
    let bytes = token.as_bytes();
    bytes.iter().all(u8::is_ascii_alphanumeric) && !bytes.iter().skip(1).any(u8::is_ascii_uppercase)
}

fn is_word(ch: char) -> bool {
    ch.is_alphanumeric() || matches!(ch, '_' | '-' | '.' | '\'' | '’')
}

/// A token and its parts.
fn split_token(token: &str, found: &mut Vec<String>) {
    let mut parts = Vec::new();
    for piece in token.split(|ch: char| !ch.is_alphanumeric()).filter(|piece| !piece.is_empty()) {
        split_case(piece, &mut parts);
    }
    let joined = parts.len() > 1 && parts.iter().all(|part| !part.chars().any(is_ideographic));
    if joined {
        push(&parts.concat(), found);
    }
    for part in &parts {
        if part.chars().any(is_ideographic) { push_pairs(part, found) } else { push(part, found) }
    }
}

fn push(word: &str, found: &mut Vec<String>) {
    let word = fold(word);
    if !word.is_empty() && word.len() <= LONGEST {
        found.push(word);
    }
}

/// Lower case, without the accents that people leave out when they type.
pub(crate) fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    word.chars().flat_map(char::to_lowercase).map(unaccented).filter(|ch| !is_mark(*ch)).collect()
}

fn is_mark(ch: char) -> bool {
    matches!(ch, '\u{300}'..='\u{36f}')
}

fn unaccented(ch: char) -> char {
    match ch {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'ď' | 'đ' => 'd',
        'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ę' | 'ě' => 'e',
        'ğ' => 'g',
        'ì' | 'í' | 'î' | 'ï' | 'ī' | 'ı' => 'i',
        'ł' | 'ľ' => 'l',
        'ñ' | 'ń' | 'ň' => 'n',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' | 'ō' | 'ő' => 'o',
        'ř' => 'r',
        'ś' | 'š' | 'ş' => 's',
        'ť' | 'ţ' => 't',
        'ù' | 'ú' | 'û' | 'ü' | 'ū' | 'ů' | 'ű' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        _ => ch,
    }
}

/// Whether a script writes without blanks between words.
pub(crate) fn is_ideographic(ch: char) -> bool {
    matches!(ch, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}' | '\u{e00}'..='\u{e7f}')
}

/// Pairs of neighbouring characters, and single ones where there is no neighbour.
fn push_pairs(part: &str, found: &mut Vec<String>) {
    let chars: Vec<char> = part.chars().collect();
    if let [only] = chars[..] {
        return push(&only.to_string(), found);
    }
    for pair in chars.windows(2) {
        push(&pair.iter().collect::<String>(), found);
    }
}

/// Splits at changes of case, of script, and between letters and digits where a word begins: `HTTPServer2Go` is `HTTP Server 2 Go`.
fn split_case(piece: &str, parts: &mut Vec<String>) {
    let chars: Vec<char> = piece.chars().collect();
    let mut start = 0;
    for at in 1..chars.len() {
        if is_border(&chars, at) {
            parts.push(chars[start..at].iter().collect());
            start = at;
        }
    }
    parts.push(chars[start..].iter().collect());
}

fn is_border(chars: &[char], at: usize) -> bool {
    let (before, here, after) = (chars[at - 1], chars[at], chars.get(at + 1));
    (before.is_lowercase() && here.is_uppercase())
        || (before.is_uppercase() && here.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
        || (is_ideographic(before) != is_ideographic(here))
}

/// Words that most texts have: a question that has others is about those.
const COMMON: &[&str] = &[
    "a", "about", "after", "all", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
    "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in", "is", "it", "its", "me", "my", "not", "of", "on",
    "or", "our", "should", "so", "some", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to", "us",
    "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your", "der", "die", "das",
    "und", "ist", "ein", "eine", "wir", "mit", "von", "zu", "le", "la", "les", "de", "des", "et", "est", "un", "une", "el", "los", "las",
    "que", "en", "y",
];

/// Whether most texts have this word.
pub(crate) fn is_common(word: &str) -> bool {
    COMMON.contains(&word)
}

/// A word without the endings of plurals and verbs, about as the index sees it.
pub(crate) fn stem(word: &str) -> &str {
    let ending = ["ations", "ation", "ments", "ment", "ings", "ing", "ies", "ied", "ers", "er", "es", "ed", "ly", "s", "e", "y"];
    let ending = ending.into_iter().find(|ending| word.ends_with(ending) && word.len() >= ending.len() + 3 && word.is_ascii());
    let stemmed = ending.map_or(word, |ending| &word[..word.len() - ending.len()]);
    // `planned` and `plan`.
    let bytes = stemmed.as_bytes();
    let doubled = ending.is_some()
        && bytes.len() > 3
        && bytes[bytes.len() - 1] == bytes[bytes.len() - 2]
        && !matches!(bytes[bytes.len() - 1], b'l' | b's' | b'z');
    if doubled { &stemmed[..stemmed.len() - 1] } else { stemmed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_accents_and_scripts_are_split() {
        for (text, expected) in [
            ("max_open_files", vec!["maxopenfiles", "max", "open", "files"]),
            ("maxOpenFiles", vec!["maxopenfiles", "max", "open", "files"]),
            ("max-open-files", vec!["maxopenfiles", "max", "open", "files"]),
            ("HTTPServer", vec!["httpserver", "http", "server"]),
            ("Vec2::new()", vec!["vec2", "new"]),
            ("config.toml", vec!["configtoml", "config", "toml"]),
            ("don’t", vec!["dont", "don", "t"]),
            ("Größe café", vec!["große", "cafe"]),
            ("数据库连接", vec!["数据", "据库", "库连", "连接"]),
            ("東京Tower", vec!["東京", "tower"]),
            ("猫", vec!["猫"]),
            ("...---___", vec![]),
            ("\" NEAR * (", vec!["near"]),
            ("", vec![]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
        assert_eq!(words(&"x".repeat(100)), Vec::<String>::new(), "no word is that long");
    }

    #[test]
    fn stems_of_the_forms_of_a_word_are_the_same() {
        for (one, other) in
            [("database", "databases"), ("planned", "plan"), ("deploying", "deployed"), ("policies", "policy"), ("migration", "migrations")]
        {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
        assert_ne!(stem("cat"), stem("car"));
    }
}
