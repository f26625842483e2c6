//! Removing what models put around a patch: fences, commands that would feed it to a program, and indentation.

use super::marker::Marker;

/// A command within a fence, and as much again.
const DEEPEST: usize = 4;

/// The lines of a patch, numbered from 1, without fences and commands.
pub(super) fn unwrap(text: &str) -> Vec<(usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let returns = text.split_inclusive('\n').next().is_some_and(|line| line.ends_with("\r\n"));
    let ending = if text.contains('\n') { '\n' } else { '\r' };
    let numbered = (1..).zip(text.split(ending).map(|line| if returns { line.strip_suffix('\r').unwrap_or(line) } else { line }));
    let mut lines: Vec<(usize, &str)> = numbered.collect();
    for _ in 0..DEEPEST {
        lines.drain(..lines.iter().position(filled).unwrap_or(lines.len()));
        let Some(closing) = lines.first().and_then(|(_, line)| closing(line.trim())) else { break };
        lines.remove(0);
        let last = lines.iter().rposition(filled).filter(|last| closing.closes(lines[*last].1.trim()));
        lines.truncate(last.unwrap_or(lines.len()));
    }
    // A line with a space is an empty line of a hunk, not layout.
    lines.truncate(lines.iter().rposition(|(_, line)| !line.trim_end_matches('\r').is_empty()).map_or(0, |last| last + 1));
    dedent(&mut lines);
    lines
}

/// Takes the indentation of `*** Begin Patch` off: off every line if all have it, else off the lines of structure. The last line may
/// be indented for itself.
fn dedent(lines: &mut [(usize, &str)]) {
    let begin = lines.iter().position(|(_, line)| Marker::parse(line.trim_start()) == Some(Marker::Begin));
    if let Some(begin) = begin {
        let first = lines[begin].1;
        let indentation = &first[..first.len() - first.trim_start().len()];
        let patch = &mut lines[begin..];
        let everywhere = patch.iter().filter(|line| filled(line)).all(|(_, line)| line.starts_with(indentation));
        for (_, line) in patch.iter_mut().filter(|_| !indentation.is_empty()) {
            let outer = line.strip_prefix(indentation);
            *line = outer.filter(|outer| everywhere || Marker::parse(outer).is_some()).unwrap_or(line);
        }
    }
    if let Some((_, line)) = lines.last_mut()
        && Marker::parse(line.trim_start()) == Some(Marker::End)
    {
        *line = line.trim_start();
    }
}

fn filled((_, line): &(usize, &str)) -> bool {
    !line.trim().is_empty()
}

/// The end of a wrapping, by its start.
enum Closing<'a> {
    Fence,
    Word(&'a str),
}

impl Closing<'_> {
    fn closes(&self, line: &str) -> bool {
        match self {
            Self::Fence => !line.is_empty() && line.chars().all(|ch| ch == '`'),
            Self::Word(word) => line.trim_end_matches(['"', '\'']) == *word,
        }
    }
}

fn closing(line: &str) -> Option<Closing<'_>> {
    if line.starts_with("```") {
        return Some(Closing::Fence);
    }
    // Other commands, such as `cd`, have effects of their own.
    let (command, word) = line.split_once("<<")?;
    let known = ["", "apply_patch", "applypatch", "apply-patch", "cat"].contains(&command.trim());
    let word = word.trim_start_matches('-').trim().trim_matches(['"', '\'', '\\']);
    let plain = !word.is_empty() && word.chars().all(|ch| ch.is_alphanumeric() || ch == '_');
    (known && plain && Marker::parse(line).is_none()).then_some(Closing::Word(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_around_a_patch_is_taken_off() {
        let patch = vec!["*** Begin Patch", "+a", "*** End Patch"];
        for text in [
            "*** Begin Patch\n+a\n*** End Patch",
            "\n \n*** Begin Patch\r\n+a\r\n*** End Patch\n\r\n",
            "\u{feff}*** Begin Patch\n+a\n*** End Patch",
            "<<EOF\n*** Begin Patch\n+a\n*** End Patch\nEOF",
            "apply_patch <<'EOF'\n*** Begin Patch\n+a\n*** End Patch\nEOF\n",
            "cat <<-\"PATCH\"\n*** Begin Patch\n+a\n*** End Patch\nPATCH\n \n",
            "```diff\n*** Begin Patch\n+a\n*** End Patch\n```",
            "````\napply_patch << EOF\n*** Begin Patch\n+a\n*** End Patch\nEOF\n````\n",
            "apply_patch <<'EOF'\n*** Begin Patch\n+a\n*** End Patch",
            "*** Begin Patch\r+a\r*** End Patch\r",
            "  *** Begin Patch\n  +a\n  *** End Patch",
            "\t*** Begin Patch\n+a\n\t*** End Patch",
            "*** Begin Patch\n+a\n  *** End Patch\n",
        ] {
            let lines: Vec<&str> = unwrap(text).into_iter().map(|(_, line)| line.trim_end_matches('\r')).collect();
            assert_eq!(lines, patch, "{text}");
        }
    }

    #[test]
    fn lines_keep_their_numbers_and_nothing_else_is_taken_off() {
        assert_eq!(unwrap("\n```\na\n\nb\r\n```"), [(3, "a"), (4, ""), (5, "b\r")]);
        assert_eq!(unwrap("cd x && apply_patch <<EOF\na\nEOF"), [(1, "cd x && apply_patch <<EOF"), (2, "a"), (3, "EOF")]);
        assert_eq!(unwrap(" \n\t\n"), []);
        assert_eq!(unwrap("a\n \n\n"), [(1, "a"), (2, " ")]);
        let with_context = "*** Begin Patch\n  *** End Patch\n+x\n*** End Patch";
        assert_eq!(unwrap(with_context)[1], (2, "  *** End Patch"));
    }
}
