//! Runs the table: every attack, through every door, in every world that it is tried in.

use std::collections::BTreeMap;
use std::path::Path;

use haft::{ErrorKind, ToolResult};

use crate::doors::{Does, Door, doors};
use crate::rows::{How, ROWS, Row, Safe};
use crate::snapshot::{self, Marks};
use crate::world::{Prepare, World, everything_of};

/// What may be at the end of a path: a file, nothing, a folder or a link. A refusal must not tell which of them it is.
const LEAVES: [&str; 4] = ["secret", "absent", "folder", "link"];
/// What has a meaning in a pattern.
const MARKS: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

macro_rules! attacks {
    ($($id:ident)*) => {
        $(#[test]
        fn $id() {
            run(&stringify!($id).to_uppercase());
        })*

        #[test]
        fn every_row_of_the_table_is_a_test() {
            let ids: Vec<&str> = ROWS.iter().map(|row| row.id).collect();
            assert_eq!(ids, [$(stringify!($id).to_uppercase()),*]);
        }
    };
}

attacks! {
    a01 a02 a03 a04 a05 a06 a07 a08 a09 a10 a11 a12 a13 a14 a15 a16 a17 a18 a19 a20 a21 a22 a23 a24 a25 a26 a27 a28 a29 a30
}

fn run(id: &str) {
    let row = ROWS.iter().find(|row| row.id == id).unwrap();
    match row.how {
        How::Paths { worlds, paths } => run_paths(row, worlds, paths),
        How::Otherwise(test) => test(),
        How::NotHere(why) => println!("{} ({}): {why}", row.id, row.attack),
    }
}

fn run_paths(row: &Row, worlds: &[Prepare], paths: &[(Safe, &[&str])]) {
    let mut told = Told::default();
    for prepare in worlds {
        let world = World::new(*prepare);
        let mut before = snapshot::marks(&world.ws);
        for door in &doors() {
            for (safe, spellings) in paths {
                // Another name for a door is proven to be one by the first spelling.
                let tried = if door.is_another_name { &spellings[..1] } else { spellings };
                for spelling in tried {
                    Attempt { row, world: &world, door, safe: *safe, spelling }.make(&mut before, &mut told);
                }
            }
        }
        world.check_records();
    }
}

/// The refusal messages by door and spelling: they must not depend on what is there.
type Told = BTreeMap<(String, String), (ErrorKind, String)>;

/// One spelling at one door.
struct Attempt<'a> {
    row: &'a Row,
    world: &'a World,
    door: &'a Door,
    safe: Safe,
    spelling: &'a str,
}

impl Attempt<'_> {
    fn make(&self, before: &mut Marks, told: &mut Told) {
        for leaf in self.leaves() {
            let path = self.path(leaf);
            let session = self.world.session(self.door.dialect);
            let result = self.world.call_in(&session, self.door.tool, self.door.arguments(&path));
            let unchanged = *before == snapshot::marks(&self.world.ws);
            self.check(&path, &result, unchanged);
            self.compare(&path, leaf, &result, told);
            if !unchanged {
                self.world.reset();
                *before = snapshot::marks(&self.world.ws);
            }
        }
    }

    fn leaves(&self) -> &'static [&'static str] {
        match self.safe {
            _ if !self.spelling.contains("{leaf}") => &[""],
            _ if self.door.is_another_name => &LEAVES[..1],
            Safe::Denied => &LEAVES,
            Safe::NotRead | Safe::NotWritten => &LEAVES[..2],
            Safe::Refused(_) | Safe::Literal | Safe::Inside => &LEAVES[1..2],
        }
    }

    fn path(&self, leaf: &str) -> String {
        let (end, base) = (self.door.end(), self.world.base.to_str().unwrap());
        let leaf = format!("{leaf}{end}");
        let path = self.spelling.replace("{leaf}", &leaf).replace("{end}", end).replace("{base}", base);
        path.replace("{pid}", &std::process::id().to_string())
    }

    fn check(&self, path: &str, result: &ToolResult, unchanged: bool) {
        let about = || format!("{} {}: {} '{path}': {}", self.row.id, self.row.attack, self.door.name, everything_of(result));
        if let Some(kinds) = self.expected(path) {
            let kind = result.outcome.as_ref().err().map(haft::ToolError::kind);
            assert!(kind.is_some_and(|kind| kinds.contains(&kind)), "not refused as {kinds:?}: {}", about());
            assert!(unchanged, "refused, and the workspace is changed: {}", about());
        } else if self.safe == Safe::Literal && self.door.does == Does::Write {
            assert!(result.is_success() && self.world.content(path) == b"new\n", "not taken literally: {}", about());
        }
    }

    /// The kinds of error that a door may answer with; `None` where it need not refuse, only stay inside.
    fn expected(&self, path: &str) -> Option<&'static [ErrorKind]> {
        let refused = match self.safe {
            Safe::Denied | Safe::Refused(_) => self.door.does != Does::Choose,
            Safe::NotWritten => self.door.writes(),
            Safe::NotRead => self.door.reads(),
            Safe::Inside | Safe::Literal => false,
        };
        if !refused || (self.door.takes_patterns() && path.contains(MARKS)) {
            return None;
        }
        // Its first question is whether the name is that of a notebook, and that needs no look at the disk.
        if self.door.is_for_notebooks() && Path::new(path).extension() != Some("ipynb".as_ref()) {
            return Some(&[ErrorKind::ValidationError]);
        }
        match self.safe {
            Safe::Refused(kinds) => Some(kinds),
            _ => Some(&[ErrorKind::PathNotAllowed]),
        }
    }

    /// Holds a refusal against those that other leaves and other worlds were answered with.
    fn compare(&self, path: &str, leaf: &str, result: &ToolResult, told: &mut Told) {
        let Err(error) = &result.outcome else { return };
        if matches!(self.safe, Safe::Refused(_)) || self.expected(path).is_none() {
            return;
        }
        let (leaf, base) = (format!("{leaf}{}", self.door.end()), self.world.base.to_str().unwrap());
        let said = (error.kind(), error.message().replace(&leaf, "LEAF").replace(base, "BASE"));
        let first = told.entry((self.door.name.clone(), self.spelling.to_owned())).or_insert_with(|| said.clone());
        assert_eq!(*first, said, "{} {}: '{}' tells what is there", self.row.id, self.door.name, self.spelling);
    }
}
