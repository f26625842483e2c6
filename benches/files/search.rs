//! Finding files and lines in them, beside ripgrep and fd.

use std::path::Path;

use serde_json::{Value, json};

use crate::bench::{Bench, Call};
use crate::measure::{ROUNDS, middle, row};
use crate::memory::measure_growth;
use crate::rivals::Rivals;

/// Something to look for, in our words and in ripgrep's.
#[derive(Clone, Copy)]
struct Search {
    what: &'static str,
    pattern: &'static str,
    mode: &'static str,
    case_insensitive: bool,
    flags: &'static [&'static str],
}

const SEARCHES: [Search; 6] = [
    Search {
        what: "files with a literal",
        pattern: "needle_in_haystack",
        mode: "files_with_matches",
        case_insensitive: false,
        flags: &["-l"],
    },
    Search { what: "a literal", pattern: "needle_in_haystack", mode: "content", case_insensitive: false, flags: &["-n"] },
    Search { what: "an expression", pattern: r"let \w+ trait \w+ fn", mode: "content", case_insensitive: false, flags: &["-n"] },
    Search { what: "a literal in any case", pattern: "NEEDLE_IN_hay", mode: "content", case_insensitive: true, flags: &["-n", "-i"] },
    Search { what: "nothing", pattern: "zzz_nowhere", mode: "content", case_insensitive: false, flags: &["-n"] },
    Search { what: "many matches", pattern: "kappa self", mode: "content", case_insensitive: false, flags: &["-n"] },
];

/// All searches of one place.
pub(crate) async fn grep_rows(bench: &Bench, rivals: &Rivals, place: &str, path: &str) {
    for Search { what, pattern, mode, case_insensitive, flags } in SEARCHES {
        let arguments = json!({"pattern": pattern, "path": path, "output_mode": mode, "case_insensitive": case_insensitive});
        let beside: Vec<&str> = ["--no-config"].into_iter().chain(flags.iter().copied()).chain([pattern, path]).collect();
        let label = format!("grep {place}: {what}");
        compare(bench, &label, ("grep_search", &arguments), rivals.rg.as_deref().map(|rg| (rg, beside.as_slice())), "rg").await;
    }
}

pub(crate) async fn glob_rows(bench: &Bench, rivals: &Rivals) {
    let arguments = json!({"pattern": "**/*.rs"});
    let files = ["--no-config", "--files", "-g", "**/*.rs"];
    compare(bench, "glob **/*.rs", ("glob_search", &arguments), rivals.rg.as_deref().map(|rg| (rg, &files[..])), "rg --files").await;
    let ending = ["-e", "rs"];
    compare(bench, "glob **/*.rs", ("glob_search", &arguments), rivals.fd.as_deref().map(|fd| (fd, &ending[..])), "fd").await;
}

/// Both in turn, so that what disturbs one disturbs the other; and the other program against itself.
async fn compare(bench: &Bench, label: &str, call: Call<'_>, rival: Option<(&Path, &[&str])>, name: &str) {
    let (mut ours, mut theirs, mut again, mut counts) = (Vec::new(), Vec::new(), Vec::new(), (Value::Null, 0));
    // The first of each fills the caches.
    for round in 0..=ROUNDS {
        let (elapsed, details) = bench.call(call).await;
        let others = rival.map(|(program, arguments)| (bench.run(program, arguments), bench.run(program, arguments)));
        counts.0 = count_hits(&details);
        if round == 0 {
            continue;
        }
        ours.push(elapsed);
        if let Some(((first, count), (second, _))) = others {
            theirs.push(first);
            again.push(second);
            counts.1 = count;
        }
    }
    let (ours, memory) = (middle(ours), measure_growth(&bench.workspace, call));
    if theirs.is_empty() {
        println!("{label:<46} {:>9.2} ms {:>12} {:>8}  {name} is not here; memory {memory:.0} MB", ours.as_secs_f64() * 1e3, "-", "-");
    } else {
        let reference = middle(theirs);
        row(label, ours, reference, &format!("{name}; found {} and {}; memory {memory:.0} MB", counts.0, counts.1));
        row("  the same program against itself (A/A)", middle(again), reference, name);
    }
}

/// How many lines or files a search found.
fn count_hits(details: &Value) -> Value {
    ["total_lines", "total_files", "total"].iter().map(|key| details[*key].clone()).find(|count| !count.is_null()).unwrap_or_default()
}
