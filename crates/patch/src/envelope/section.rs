//! The files of a patch, one after the other.

use std::collections::HashMap;

use super::hunks::{self, HunkForm, PatchCursor};
use super::marker::Marker;
use super::{FilePatch, MAX_FILES, MAX_HUNKS, ParseError, Patch, PatchAction, unified};
use crate::plan::lexical;

const NEXT: &str = "`*** Add File: PATH`, `*** Update File: PATH`, `*** Delete File: PATH` or `*** End Patch`";

/// Reads a whole patch.
#[derive(Debug)]
pub(super) struct PatchReader<'a> {
    cursor: PatchCursor<'a>,
    patch: Patch,
    hunks: usize,
    first: Option<(usize, &'a str)>,
    /// Whether any part has an envelope.
    enveloped: bool,
    begun: bool,
    ended: bool,
}

impl<'a> PatchReader<'a> {
    pub(super) fn new(lines: &'a [(usize, &'a str)]) -> Self {
        let (cursor, first) = (PatchCursor::new(lines), lines.first().copied());
        Self { cursor, patch: Patch::default(), hunks: 0, first, enveloped: false, begun: false, ended: false }
    }

    pub(super) fn read(mut self) -> Result<Patch, ParseError> {
        while let Some((line, text)) = self.cursor.peek().filter(|_| !self.ended) {
            match Marker::parse(text.trim_start()) {
                Some(marker) => {
                    self.cursor.skip(1);
                    self.section(line, text, marker)?;
                }
                None if text.trim().is_empty() => self.cursor.skip(1),
                None if unified::begins(&self.cursor) => self.diff(line)?,
                None => self.other(line, text)?,
            }
        }
        self.leave_rest();
        self.finish()
    }

    /// What follows `*** End Patch` is not carried out, whatever it is.
    fn leave_rest(&mut self) {
        let Some((line, _)) = self.cursor.rest().find(|(_, text)| !text.trim().is_empty()) else { return };
        let is_patch = self.cursor.rest().any(|(_, text)| Marker::parse(text.trim_start()).is_some());
        self.note(if is_patch {
            format!("line {line}: the patch after `*** End Patch` was left out: send it by itself")
        } else {
            format!("line {line}: text after the patch was left out")
        });
    }

    fn section(&mut self, line: usize, text: &str, marker: Marker<'a>) -> Result<(), ParseError> {
        self.enveloped |= marker != Marker::End;
        let action = match marker {
            Marker::Begin => {
                self.begun = true;
                return Ok(());
            }
            Marker::End => {
                self.ended = true;
                return Ok(());
            }
            // Left over after an added file.
            Marker::EndOfFile if !self.patch.files.is_empty() => return Ok(()),
            Marker::EndOfFile | Marker::MoveTo(_) => return Err(ParseError::new(line, text, NEXT)),
            Marker::Add(_) => PatchAction::Add { text: self.added()? },
            Marker::Delete(_) => PatchAction::Delete,
            Marker::Update(_) => self.update(line, text)?,
        };
        let (Marker::Add(path) | Marker::Delete(path) | Marker::Update(path)) = marker else { return Ok(()) };
        if path.is_empty() {
            return Err(ParseError::new(line, text, "the path of a file after the colon"));
        }
        self.push(FilePatch { path: path.to_owned(), action, line })
    }

    /// The lines of a new file, each after a `+`.
    fn added(&mut self) -> Result<String, ParseError> {
        let (mut text, mut blank) = (String::new(), 0);
        while let Some((line, next)) = self.cursor.peek() {
            if Marker::parse(next.trim_start()).is_some() {
                break;
            }
            match next.strip_prefix('+') {
                Some(added) => {
                    // Blank lines in the middle lost their `+`; those at the end are layout.
                    text.push_str(&"\n".repeat(std::mem::take(&mut blank)));
                    text.push_str(added);
                    text.push('\n');
                }
                None if next.trim().is_empty() => blank += 1,
                None if text.is_empty() && next.starts_with("@@") => {}
                None if next.starts_with("\\ ") => text.truncate(text.len() - usize::from(text.ends_with('\n'))),
                None => return Err(ParseError::new(line, next, "a line of the new file after a '+', or the next `*** ` line")),
            }
            self.cursor.skip(1);
        }
        Ok(text)
    }

    fn update(&mut self, line: usize, text: &str) -> Result<PatchAction, ParseError> {
        let mut move_to = None;
        while let Some((line, next)) = self.cursor.peek() {
            match Marker::parse(next.trim_start()) {
                Some(Marker::MoveTo("")) => return Err(ParseError::new(line, next, "the new path of the file after the colon")),
                Some(Marker::MoveTo(path)) => move_to = Some(path.to_owned()),
                // The header of a unified diff repeats the path.
                _ if self.cursor.at_file_header() && self.cursor.ahead(2).starts_with("@@") => self.cursor.skip(1),
                _ => break,
            }
            self.cursor.skip(1);
        }
        let hunks = self.hunks(HunkForm::Envelope)?;
        if hunks.is_empty() && move_to.is_none() {
            let (line, next) = self.cursor.peek().unwrap_or((line, text));
            return Err(ParseError::new(line, next, "a hunk: `@@`, then lines that start with ' ', '-' or '+'"));
        }
        Ok(PatchAction::Update { move_to, hunks })
    }

    fn hunks(&mut self, form: HunkForm) -> Result<Vec<super::Hunk>, ParseError> {
        let hunks = hunks::read(&mut self.cursor, form, MAX_HUNKS - self.hunks)?;
        self.hunks += hunks.len();
        Ok(hunks)
    }

    /// One file of a unified diff.
    fn diff(&mut self, line: usize) -> Result<(), ParseError> {
        self.begun = true;
        let head = unified::DiffHeader::read(&mut self.cursor)?;
        let hunks = self.hunks(HunkForm::Unified)?;
        if let Some(file) = head.action(hunks, line)? {
            return self.push(file);
        }
        self.note(format!("line {line}: a change of the file's mode alone was left out"));
        Ok(())
    }

    /// A line that is not structure: before a patch it is skipped.
    fn other(&mut self, line: usize, text: &str) -> Result<(), ParseError> {
        if self.begun {
            return Err(ParseError::new(line, text, NEXT));
        }
        self.note(format!("line {line}: text before the patch was left out"));
        self.cursor.skip(1);
        Ok(())
    }

    fn note(&mut self, note: String) {
        const NOTED: usize = 20;
        if self.patch.notes.len() < NOTED {
            self.patch.notes.push(note);
        }
    }

    fn push(&mut self, file: FilePatch) -> Result<(), ParseError> {
        if self.patch.files.len() == MAX_FILES {
            return Err(ParseError::too_many_files());
        }
        self.begun = true;
        self.patch.files.push(file);
        Ok(())
    }

    fn finish(mut self) -> Result<Patch, ParseError> {
        match (self.patch.files.is_empty(), self.first.filter(|_| !self.begun)) {
            (true, Some((line, text))) => return Err(ParseError::new(line, text, "`*** Begin Patch`, or a unified diff")),
            (true, None) => return Err(ParseError::empty()),
            (false, _) => {}
        }
        if self.enveloped && !self.ended {
            self.note("`*** End Patch` is missing: the patch may have been cut off".to_owned());
        }
        self.join_rewrites();
        Ok(self.patch)
    }

    /// A file that is deleted and then added again is written anew: its deletion goes.
    fn join_rewrites(&mut self) {
        let added = |file: &FilePatch| matches!(file.action, PatchAction::Add { .. }).then(|| (lexical(&file.path), file.line));
        let added: HashMap<String, usize> = self.patch.files.iter().filter_map(added).collect();
        let is_rewritten = |file: &FilePatch| added.get(&lexical(&file.path)).is_some_and(|line| *line > file.line);
        self.patch.files.retain(|file| file.action != PatchAction::Delete || !is_rewritten(file));
    }
}
