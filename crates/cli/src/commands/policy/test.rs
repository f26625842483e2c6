//! `haft policy test`: calls with the verdict that they should get.

use std::io::Read;
use std::path::Path;

use haft_contract::{Arguments, visible};
use haft_engine::Explanation;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{Common, Who};
use crate::commands::block_on;
use crate::commands::explain::{because, decisive};
use crate::failure::{Exit, Failure};
use crate::output::{BAD, GOOD, Output, print};
use crate::page::Page;
use crate::wire::{Explaining, Wire};

/// Nobody keeps more examples in one file.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Examples {
    #[serde(rename = "case", default)]
    cases: Vec<Case>,
}

/// One call and the verdict it should get.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: Option<String>,
    tool: String,
    /// Without arguments: is the tool offered at all?
    arguments: Option<Value>,
    agent: Option<String>,
    provider: Option<String>,
    channel: Option<String>,
    sender: Option<String>,
    #[serde(default)]
    depth: u32,
    #[serde(default)]
    sandboxed: bool,
    #[serde(default)]
    guest: bool,
    expect: Expected,
    /// The step that must decide it.
    step: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Expected {
    Allow,
    Ask,
    Deny,
}

impl Expected {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// What came of an example.
struct Checked {
    title: String,
    expected: String,
    got: String,
    /// Whether a step decided it.
    decided: bool,
    because: String,
    passed: bool,
}

pub(super) fn run(common: &Common, file: &Path, output: &Output) -> Result<Exit, Failure> {
    let examples = read(file)?;
    let wire = Wire::new(common, output)?;
    let explaining = wire.explaining()?;
    let checked: Vec<Checked> = block_on(async {
        let mut all = Vec::new();
        for case in &examples.cases {
            all.push(check(&explaining, case).await?);
        }
        Ok(all)
    })?;
    let failed = checked.iter().filter(|checked| !checked.passed).count();
    if output.json {
        output.data(&to_json(&checked))?;
    } else {
        print(&in_words(&checked, failed))?;
    }
    Ok(if failed > 0 { Exit::Failed } else { Exit::Success })
}

fn read(file: &Path) -> Result<Examples, Failure> {
    let refused =
        |why: String| Failure::usage(format!("{}: {why}", file.display())).help("`haft policy test --help` shows what a case looks like");
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(|error| refused(error.to_string()))?;
    opened.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|error| refused(error.to_string()))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(refused(format!("it is larger than {MOST_BYTES} bytes")));
    }
    let examples: Examples = toml::from_str(&text).map_err(|error| refused(error.to_string().trim_end().to_owned()))?;
    if examples.cases.is_empty() {
        return Err(refused("it holds no [[case]], so nothing would be tested".into()));
    }
    Ok(examples)
}

async fn check(explaining: &Explaining<'_>, case: &Case) -> Result<Checked, Failure> {
    let who = Who {
        provider: case.provider.clone(),
        channel: case.channel.clone(),
        sender: case.sender.clone(),
        depth: case.depth,
        sandboxed: case.sandboxed,
        guest: case.guest,
    };
    let session = explaining.session(case.agent.as_deref(), &who)?;
    let explained = explaining.engine.explain(&case.tool, case.arguments.clone().map(Arguments::Json), &session).await;
    let (got, step, because) = match &explained {
        Ok(Explanation { verdict, trace, .. }) => (verdict.to_string(), decisive(trace).map_or("", |entry| entry.step), because(trace)),
        Err(error) => ("error".to_owned(), "", error.message().to_owned()),
    };
    let right_step = case.step.as_deref().is_none_or(|wanted| wanted == step);
    let by = case.step.as_ref().map(|step| format!(" by the step '{step}'")).unwrap_or_default();
    let expected = format!("{}{by}", case.expect.as_str());
    Ok(Checked { title: title(case), expected, passed: got == case.expect.as_str() && right_step, decided: !step.is_empty(), got, because })
}

fn title(case: &Case) -> String {
    case.name.clone().unwrap_or_else(|| {
        let arguments = case.arguments.as_ref().map(|arguments| format!(" {arguments}")).unwrap_or_default();
        format!("{}{arguments}", case.tool)
    })
}

fn in_words(checked: &[Checked], failed: usize) -> String {
    let mut page = Page::default();
    for case in checked {
        let (word, style) = if case.passed { ("ok  ", GOOD) } else { ("FAIL", BAD) };
        page.line(format_args!("{style}{word}{style:#} {}: {}", visible::line(&case.title), case.expected));
        if !case.passed {
            let link = if case.decided { ", because of" } else { ":" };
            page.line(format_args!("     got {}{link} {}", case.got, visible::line(&case.because)));
        }
    }
    page.line(format_args!("\n{} of {} as expected", checked.len() - failed, checked.len()));
    page.finish()
}

fn to_json(checked: &[Checked]) -> Value {
    checked
        .iter()
        .map(|case| json!({ "name": case.title, "expected": case.expected, "got": case.got, "because": case.because, "passed": case.passed }))
        .collect()
}
