//! Translating the indentation of a text into that of a file.

/// Translates written indentation into that of the file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IndentShift {
    /// Written and found indentation, the shortest written first.
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
    step: Option<IndentStep>,
}

/// The ratio of written to found blanks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct IndentStep {
    written: BlankRun,
    found: BlankRun,
}

/// Blanks of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BlankRun {
    blank: u8,
    length: usize,
}

impl BlankRun {
    fn parse(blanks: &[u8]) -> Option<Self> {
        let blank = *blanks.first()?;
        blanks.iter().all(|byte| *byte == blank).then_some(Self { blank, length: blanks.len() })
    }
}

/// A block with more depths than these is not translated.
const MAX_DEPTHS: usize = 64;

impl IndentShift {
    /// Learns from lines that differ in their indentation alone, written and found. `None` if the blocks have different shapes:
    /// one depth in one of them is several in the other.
    pub(crate) fn between<'a>(lines: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Option<Self> {
        let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for (written, found) in lines {
            match pairs.iter().find(|(known, _)| known == written) {
                Some((_, known)) if known != found => return None,
                Some(_) => {}
                None if pairs.len() == MAX_DEPTHS => return None,
                None => pairs.push((written.to_vec(), found.to_vec())),
            }
        }
        pairs.sort_by_key(|(written, _)| written.len());
        nested(&pairs).then(|| Self { step: IndentStep::learn(&pairs), pairs })
    }

    /// The file's indentation for a line that was written with this one.
    pub(crate) fn apply(&self, written: &[u8]) -> Vec<u8> {
        if let Some((shallower, found)) = self.pairs.iter().rfind(|(known, _)| written.starts_with(known)) {
            return [found, &*self.translate(&written[shallower.len()..], found)].concat();
        }
        if let Some((deeper, found)) = self.pairs.iter().find(|(known, _)| known.starts_with(written)) {
            let cut = self.translate(&deeper[written.len()..], found);
            return found.strip_suffix(&*cut).unwrap_or_default().to_vec();
        }
        written.to_vec()
    }

    /// A whole text with the file's indentation. Lines of blanks alone become empty.
    pub(crate) fn apply_to_lines(&self, text: &str) -> String {
        let lines = text.split_inclusive('\n').map(|line| {
            let body = line.trim_start_matches([' ', '\t']);
            if body.is_empty() || body == "\n" {
                return body.to_owned();
            }
            let indentation = self.apply(&line.as_bytes()[..line.len() - body.len()]);
            String::from_utf8_lossy(&indentation).into_owned() + body
        });
        lines.collect()
    }

    fn translate(&self, written: &[u8], beside: &[u8]) -> Vec<u8> {
        let Some(run) = BlankRun::parse(written) else { return written.to_vec() };
        let fits = |step: &IndentStep| run.blank == step.written.blank && run.length.is_multiple_of(step.written.length);
        match self.step.filter(fits).or_else(|| IndentStep::guess(run, beside)) {
            Some(step) => vec![step.found.blank; run.length / step.written.length * step.found.length],
            None => written.to_vec(),
        }
    }
}

/// Whether deeper lines of the one are deeper in the other.
fn nested(pairs: &[(Vec<u8>, Vec<u8>)]) -> bool {
    let ordered = |(shallow, found): &(Vec<u8>, Vec<u8>), (deep, found_deep): &(Vec<u8>, Vec<u8>)| {
        !deep.starts_with(shallow) || (found_deep.starts_with(found) && found_deep.len() > found.len())
    };
    pairs.iter().enumerate().all(|(at, shallow)| pairs[at + 1..].iter().all(|deep| ordered(shallow, deep)))
}

impl IndentStep {
    /// From two depths; or from a single one, if one side has tabs and the other has spaces.
    fn learn(pairs: &[(Vec<u8>, Vec<u8>)]) -> Option<Self> {
        let between = pairs.windows(2).find_map(|two| {
            let [(shallow, found), (deep, found_deep)] = two else { return None };
            Self::new(deep.strip_prefix(&**shallow)?, found_deep.strip_prefix(&**found)?)
        });
        let single = || pairs.iter().find_map(|(written, found)| Self::new(written, found));
        between.or_else(|| single().filter(|step| step.written.blank != step.found.blank))
    }

    fn new(written: &[u8], found: &[u8]) -> Option<Self> {
        let (mut written, mut found) = (BlankRun::parse(written)?, BlankRun::parse(found)?);
        let common = greatest_common_divisor(written.length, found.length);
        written.length /= common;
        found.length /= common;
        Some(Self { written, found })
    }

    /// Without two depths to learn from: a tab is four spaces, or two where four do not fit.
    fn guess(written: BlankRun, beside: &[u8]) -> Option<Self> {
        let (tab, spaces) = (BlankRun { blank: b'\t', length: 1 }, |length| BlankRun { blank: b' ', length });
        match (written.blank, BlankRun::parse(beside)?.blank) {
            (b' ', b'\t') if written.length.is_multiple_of(4) => Some(Self { written: spaces(4), found: tab }),
            (b' ', b'\t') if written.length.is_multiple_of(2) => Some(Self { written: spaces(2), found: tab }),
            (b'\t', b' ') => Some(Self { written: tab, found: spaces(4) }),
            _ => None,
        }
    }
}

fn greatest_common_divisor(mut one: usize, mut other: usize) -> usize {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shift(pairs: &[(&str, &str)]) -> Option<IndentShift> {
        IndentShift::between(pairs.iter().map(|(written, found)| (written.as_bytes(), found.as_bytes())))
    }

    #[test]
    fn indentation_is_translated_into_that_of_the_file() {
        for (pairs, written, expected) in [
            // Known, deeper, shallower.
            (&[("    ", "\t")][..], "    ", "\t"),
            (&[("    ", "\t")], "        ", "\t\t"),
            (&[("    ", "\t")], "", ""),
            // Deeper in the file than written.
            (&[("", "\t"), ("    ", "\t\t")], "        ", "\t\t\t"),
            (&[("", "    ")], "  ", "      "),
            (&[("  ", "      ")], "", "    "),
            (&[("    ", "")], "        ", "    "),
            (&[("    ", "  ")], "", ""),
            // Tabs for spaces, two for four.
            (&[("\t", "  ")], "\t\t", "    "),
            (&[("  ", "    "), ("    ", "        ")], "      ", "            "),
            // Nothing to learn a step from.
            (&[("", "\t")], "    ", "\t\t"),
            (&[("", "\t")], "  ", "\t\t"),
            (&[("", "\t")], "   ", "\t   "),
            (&[("", "  ")], "\t", "      "),
            (&[("", ""), ("        ", "\t\t")], "            ", "\t\t\t"),
            (&[], "  ", "  "),
            (&[("\t", "\t\t")], "  ", "  "),
        ] {
            let found = shift(pairs).unwrap().apply(written.as_bytes());
            assert_eq!(String::from_utf8(found).unwrap(), expected, "{pairs:?} {written:?}");
        }
    }

    #[test]
    fn a_block_of_another_shape_is_another_block() {
        for pairs in [
            &[("", ""), ("", "\t")][..],
            &[("", "  "), ("  ", "  ")],
            &[("", "    "), ("  ", "  ")],
            &[("", ""), ("  ", "\t"), ("    ", "  ")],
        ] {
            assert_eq!(shift(pairs), None, "{pairs:?}");
        }
        let depths: Vec<String> = (0..=MAX_DEPTHS).map(|depth| " ".repeat(depth)).collect();
        assert_eq!(shift(&depths.iter().map(|depth| (&**depth, &**depth)).collect::<Vec<_>>()), None);
    }

    #[test]
    fn whole_texts_are_shifted() {
        let shift = shift(&[("", "\t"), ("    ", "\t\t")]).unwrap();
        assert_eq!(shift.apply_to_lines("if y:\n    \n    a\n        b\n\n"), "\tif y:\n\n\t\ta\n\t\t\tb\n\n");
    }
}
