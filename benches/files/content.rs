//! What is searched, read and changed: texts that look random and are the same in every run.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

const FOLDERS: usize = 1000;
const FILES_IN_EACH: usize = 100;
const GIGABYTE: usize = 1 << 30;
const WORDS: [&str; 24] = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "theta", "kappa", "lambda", "fn", "let", "mut", "return", "struct", "impl",
    "trait", "pub", "use", "crate", "self", "match", "while", "loop", "where",
];

/// Numbers that look random and are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % below
    }
    fn line(&mut self, into: &mut String) {
        for _ in 0..3 + self.roll(8) {
            into.push_str(WORDS[self.roll(WORDS.len())]);
            into.push(' ');
        }
        into.pop();
        into.push('\n');
    }
}

/// 100,000 small files.
pub(crate) fn make_tree(workspace: &Path) {
    let mut dice = Dice(1);
    let mut text = String::new();
    for folder in 0..FOLDERS {
        let path = workspace.join(format!("part{}/module{folder}", folder / 25));
        std::fs::create_dir_all(&path).expect("a folder");
        for number in 0..FILES_IN_EACH {
            text.clear();
            for _ in 0..10 + dice.roll(50) {
                dice.line(&mut text);
            }
            if dice.roll(50) == 0 {
                let _ = writeln!(text, "a needle_in_haystack found");
            }
            let ending = ["rs", "rs", "ts", "md", "txt"][number % 5];
            std::fs::write(path.join(format!("file{number}.{ending}")), &text).expect("a file");
        }
    }
    std::fs::create_dir(workspace.join(".git")).expect("a repository");
    std::fs::write(workspace.join(".gitignore"), "target/\n*.log\nnode_modules\n").expect("an ignore file");
}

/// A file of 1 GB; gives the number of its lines.
pub(crate) fn make_gigabyte(path: &Path) -> usize {
    let block = lines(8 << 20, 2);
    let mut file = BufWriter::new(File::create(path).expect("a file"));
    let blocks = GIGABYTE / block.len();
    for _ in 0..blocks {
        file.write_all(block.as_bytes()).expect("disk space for 1 GB");
    }
    file.write_all(b"a needle_in_haystack found\n").expect("disk space for a line");
    file.flush().expect("disk space for 1 GB");
    blocks * block.lines().count() + 1
}

/// Whole lines, a little more than so many bytes of them.
pub(crate) fn lines(bytes: usize, seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut text = String::with_capacity(bytes + 128);
    while text.len() < bytes {
        dice.line(&mut text);
    }
    text
}
