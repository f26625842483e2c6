//! Texts that fit the channels.

/// Cuts a text into pieces of at most `most` characters: at an empty line, else at the end of a line, else at a blank.
pub(crate) fn pieces(text: &str, most: usize) -> Vec<String> {
    let (mut rest, mut pieces) = (text.trim(), Vec::new());
    while !rest.is_empty() {
        let end = rest.char_indices().nth(most).map_or(rest.len(), |(at, _)| at);
        if end == rest.len() {
            pieces.push(rest.to_owned());
            break;
        }
        let head = &rest[..end];
        let cut = ["\n\n", "\n", " "].iter().find_map(|mark| head.rfind(mark).filter(|at| *at > end / 2)).unwrap_or(end);
        pieces.push(rest[..cut].trim_end().to_owned());
        rest = rest[cut..].trim_start();
    }
    pieces
}

/// The first line, as a title of at most this many characters.
pub(crate) fn title(text: &str, most: usize) -> String {
    haft_text::truncate::ellipsize(text.lines().next().unwrap_or_default().trim(), most).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_where_a_reader_would() {
        assert_eq!(pieces("one two three", 20), ["one two three"]);
        assert_eq!(pieces("first part\n\nsecond part", 15), ["first part", "second part"]);
        assert_eq!(pieces("one two three four", 9), ["one two", "three", "four"]);
        assert_eq!(pieces(&"é".repeat(25), 10), ["é".repeat(10), "é".repeat(10), "é".repeat(5)]);
        assert_eq!(pieces(" \n ", 10), Vec::<String>::new());
        let long = "word ".repeat(3000);
        assert!(pieces(&long, 4096).iter().all(|piece| piece.chars().count() <= 4096));
    }
}
