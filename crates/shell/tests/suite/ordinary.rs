//! Lines as models write them every day: an agent that asks about these is turned off.

use haft_shell::{Verdict, analyse};

const LINES: &[&str] = &[
    "cargo test -p haft-shell 2>&1 | tail -20",
    "git diff HEAD~1 -- src/main.rs | head -100",
    "git log --oneline --graph --all -n 20",
    "git add -A && git commit -m \"Fix the parser's bug\" && git push origin main",
    "find . -type f -name \"*.rs\" -not -path './target/*' | xargs wc -l | sort -n | tail -5",
    "grep -rn \"fn main\" --include=*.rs . | cut -d: -f1 | sort -u",
    "rg -n --type rust 'struct \\w+' crates | head",
    "python3 -c \"print(1 + 1)\"",
    "npm install && npm test",
    "mkdir -p a/b && cp -r x a/b/ && ls -la a/b",
    "cat > file.py <<'EOF'\nimport os\nprint(\"$HOME\", `x`)\nEOF\npython3 file.py",
    "if [ -d node_modules ]; then npm ci; else echo 'no modules'; fi",
    "for f in src/*.c; do echo \"$f\"; done",
    "while read -r line; do echo \"$line\"; done < names.txt",
    "export FOO=bar && ./run.sh --fast",
    "RUST_BACKTRACE=1 cargo run -- --help",
    "sed -n '10,20p' src/lib.rs",
    "sed -i 's/foo/bar/g' src/*.rs src/lib.rs",
    "ps aux | grep node",
    "which python3 || echo none",
    "test -f x && echo yes || echo no",
    "[ \"$x\" = \"y\" ] && echo same",
    "[[ -f Cargo.toml && ! -d target ]] && cargo build",
    "echo \"hello\" >> notes.txt",
    "curl -sSL https://example.org/data.json | jq -r '.items[] | .name'",
    "ls -la $(git rev-parse --show-toplevel)",
    "docker ps -a --format '{{.Names}}'",
    "time cargo build --release",
    "set -euo pipefail; make -j4 test",
    "cd crates/shell && timeout 60 cargo check 2> errors.txt",
    "echo $((60 * 60 * 24)) seconds",
    "make > build.log 2>&1 &",
    "bash -c 'ls | wc -l'",
    "diff <(sort a.txt) <(sort b.txt)",
    "awk -F: '{ print $1 }' names.txt | sort | uniq -c",
    "# a note\nls # another",
    "case \"$1\" in start) ./start.sh;; stop|halt) ./stop.sh;; *) echo 'what?';; esac",
];

#[test]
fn ordinary_lines_are_followed() {
    for line in LINES {
        let analysis = analyse(line);
        // A pattern among the files that are written is asked about, and nothing else of these is.
        let wanted = if line.contains("src/*.rs src") { Verdict::Unknown } else { Verdict::Followed };
        assert_eq!(analysis.verdict(), wanted, "{line}: {:?}", analysis.unknown);
    }
}
