//! Cuts Markdown into chunks of about 400 tokens that end at headings and paragraphs.

/// A chunk may end at a paragraph once it has so many bytes.
const ENOUGH: usize = 1_200;
/// And at any line once it has so many.
const FULL: usize = 2_000;
/// A longer line is cut itself.
const LONGEST_LINE: usize = 2_400;
/// A heading that is longer is shortened where it stands for its section.
const HEADING: usize = 120;
/// A longer line is no heading, whatever it begins with.
const LONGEST_HEADING: usize = 400;

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chunk {
    /// Its first line, counted from 1.
    pub first: usize,
    /// Its last line.
    pub last: usize,
    /// The headings above it, from the outermost.
    pub heading: String,
    /// Its text.
    pub text: String,
}

/// Cuts a text. Chunks do not overlap, and leave out nothing but blank lines and what a front matter says of itself.
pub fn chunks(text: &str) -> Vec<Chunk> {
    let mut cutter = Cutter::default();
    for (index, line) in text.lines().enumerate() {
        cutter.line(index + 1, line);
    }
    cutter.finish();
    cutter.done
}

#[derive(Default)]
struct Cutter {
    done: Vec<Chunk>,
    open: Chunk,
    /// Whether the open chunk has more than headings.
    has_body: bool,
    /// The headings above, by level.
    trail: Vec<(usize, String)>,
    fence: Option<char>,
}

impl Cutter {
    fn line(&mut self, number: usize, line: &str) {
        let was_fenced = self.fence.is_some();
        if self.open.text.len() + line.len() > LONGEST_LINE {
            self.finish();
        }
        self.follow_fence(line);
        if let Some((level, title)) = heading(line).filter(|_| !was_fenced && self.fence.is_none()) {
            if self.has_body {
                self.finish();
            }
            self.trail.retain(|(above, _)| *above < level);
            self.begin(number);
            self.trail.push((level, haft_text::truncate::ellipsize(title, HEADING).into_owned()));
            return self.push(number, line);
        }
        if line.trim().is_empty() {
            return if self.open.text.len() >= ENOUGH && !was_fenced { self.finish() } else { self.blank() };
        }
        self.begin(number);
        self.has_body = true;
        if line.len() > LONGEST_LINE {
            return self.cut_line(number, line);
        }
        self.push(number, line);
        if self.open.text.len() >= FULL {
            self.finish();
        }
    }

    /// Code between fences has no headings.
    fn follow_fence(&mut self, line: &str) {
        let start = line.trim_start();
        let sign = ['`', '~'].into_iter().find(|sign| start.chars().take_while(|ch| ch == sign).count() >= 3);
        match (self.fence, sign) {
            (None, Some(sign)) => self.fence = Some(sign),
            (Some(open), Some(sign)) if open == sign && start.trim_start_matches(sign).trim().is_empty() => self.fence = None,
            _ => {}
        }
    }

    fn begin(&mut self, number: usize) {
        if self.open.first == 0 {
            self.open.first = number;
            self.open.heading = self.trail.iter().map(|(_, title)| title.as_str()).collect::<Vec<_>>().join(" > ");
        }
    }

    fn push(&mut self, number: usize, line: &str) {
        self.open.text.push_str(line);
        self.open.text.push('\n');
        self.open.last = number;
    }

    fn blank(&mut self) {
        if !self.open.text.is_empty() {
            self.open.text.push('\n');
        }
    }

    /// A line that is too long for one chunk gives several of the same number.
    fn cut_line(&mut self, number: usize, line: &str) {
        let mut rest = line;
        while !rest.is_empty() {
            let head = haft_text::truncate::first_bytes(rest, FULL);
            let at = if head.len() == rest.len() {
                head.len()
            } else {
                head.rfind(' ').filter(|at| *at > ENOUGH).map_or(head.len(), |at| at + 1)
            };
            self.begin(number);
            self.has_body = true;
            self.push(number, &rest[..at.max(1)]);
            self.finish();
            rest = &rest[at.max(1)..];
        }
    }

    fn finish(&mut self) {
        let mut chunk = std::mem::take(&mut self.open);
        self.has_body = false;
        chunk.text.truncate(chunk.text.trim_end().len());
        if !chunk.text.is_empty() {
            self.done.push(chunk);
        }
    }
}

/// The level and the text of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = line.get(level..)?;
    ((1..=6).contains(&level) && rest.starts_with(' ') && line.len() <= LONGEST_HEADING)
        .then(|| (level, rest.trim().trim_end_matches('#').trim_end()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shapes(text: &str) -> Vec<(usize, usize, String)> {
        chunks(text).into_iter().map(|chunk| (chunk.first, chunk.last, chunk.heading)).collect()
    }

    #[test]
    fn chunks_end_at_headings_and_know_those_above() {
        let text = "# A\n\none\n\n## B\ntwo\n```\n# no heading\n```\n### C\nthree\n# D\nfour\n";
        assert_eq!(shapes(text), [(1, 3, String::new()), (5, 9, "A".into()), (10, 11, "A > B".into()), (12, 13, String::new())]);
        assert_eq!(shapes("# A\n## B\ntext\n"), [(1, 3, String::new())], "headings without text stay with what follows");
        assert_eq!((shapes(""), shapes("\n \n\n")), (vec![], vec![]));
    }

    #[test]
    fn long_sections_end_at_paragraphs_and_long_lists_at_lines() {
        let paragraph = format!("{}\n\n", "word ".repeat(150).trim());
        assert_eq!(shapes(&paragraph.repeat(6)), [(1, 3, String::new()), (5, 7, String::new()), (9, 11, String::new())]);
        let list = "- an entry of a list that is as long as most of them\n".repeat(200);
        let found = shapes(&list);
        assert_eq!((found[0].0, found.last().unwrap().1), (1, 200));
        assert!(found.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{found:?}");
    }

    #[test]
    fn a_line_of_ten_megabytes_gives_chunks_of_bounded_size() {
        for line in ["word ".repeat(2 << 20), "é".repeat(5 << 20)] {
            let found = chunks(&line);
            assert!(found.iter().all(|chunk| chunk.text.len() <= FULL && (chunk.first, chunk.last) == (1, 1)));
            assert!(found.len() >= line.len() / FULL);
        }
    }

    proptest! {
        #[test]
        fn no_text_is_lost_and_no_chunk_is_too_large(lines in proptest::collection::vec("(#{1,3} )?[a-zé`]{0,60}( [a-z]{1,900})?", 0..20)) {
            let text = lines.join("\n");
            let found = chunks(&text);
            let squeeze = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(squeeze(&found.iter().map(|chunk| chunk.text.as_str()).collect::<Vec<_>>().join(" ")), squeeze(&text));
            for chunk in &found {
                prop_assert!(chunk.text.len() <= LONGEST_LINE + 200, "{}", chunk.text.len());
                prop_assert!(chunk.first <= chunk.last && chunk.last <= lines.len());
            }
        }
    }
}
