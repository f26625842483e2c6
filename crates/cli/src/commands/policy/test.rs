//! `haft policy test`: calls with an expected verdict.

use std::io::Read;
use std::path::Path;

use haft_contract::Arguments;
use haft_engine::Explanation;
use haft_policy::Verdict;
use haft_text::display;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{CallerArgs, Common};
use crate::commands::block_on;
use crate::commands::explain::{because, decisive};
use crate::failure::{Exit, Failure};
use crate::output::{ERROR, GOOD, Output};
use crate::text_builder::TextBuilder;
use crate::wire::{Explainer, Wire};

/// The largest file.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyCases {
    #[serde(rename = "case", default)]
    cases: Vec<PolicyCase>,
}

/// A call and its expected verdict.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyCase {
    name: Option<String>,
    tool: String,
    /// Without arguments, whether the tool is offered.
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
    expect: Verdict,
    /// The step that must decide.
    step: Option<String>,
}

/// The result of a case.
struct CaseResult {
    title: String,
    expected: String,
    got: String,
    /// Whether a step decided.
    decided: bool,
    because: String,
    passed: bool,
}

pub(super) fn run(common: &Common, file: &Path, output: &Output) -> Result<Exit, Failure> {
    let examples = read(file)?;
    let wire = Wire::new(common, output)?;
    let explainer = wire.explainer()?;
    let checked: Vec<CaseResult> = block_on(async {
        let mut all = Vec::new();
        for case in &examples.cases {
            all.push(check(&explainer, case).await?);
        }
        Ok(all)
    })?;
    let failed = checked.iter().filter(|checked| !checked.passed).count();
    output.show(|| to_json(&checked), || in_words(&checked, failed))?;
    Ok(if failed > 0 { Exit::Failed } else { Exit::Success })
}

fn read(file: &Path) -> Result<PolicyCases, Failure> {
    let refused =
        |why: String| Failure::usage(format!("{}: {why}", file.display())).help("`haft policy test --help` shows what a case looks like");
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(|error| refused(error.to_string()))?;
    opened.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|error| refused(error.to_string()))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(refused(format!("it is larger than {MOST_BYTES} bytes")));
    }
    let examples: PolicyCases = toml::from_str(&text).map_err(|error| refused(error.to_string().trim_end().to_owned()))?;
    if examples.cases.is_empty() {
        return Err(refused("it has no [[case]], so nothing would be tested".into()));
    }
    Ok(examples)
}

async fn check(explainer: &Explainer<'_>, case: &PolicyCase) -> Result<CaseResult, Failure> {
    let who = CallerArgs {
        provider: case.provider.clone(),
        channel: case.channel.clone(),
        sender: case.sender.clone(),
        depth: case.depth,
        as_subagent: None,
        sandboxed: case.sandboxed,
        guest: case.guest,
    };
    let session = explainer.session(case.agent.as_deref(), &who)?;
    let explanation = explainer.engine.explain(&case.tool, case.arguments.clone().map(Arguments::Json), &session).await;
    let (got, step, because) = match &explanation {
        Ok(Explanation { verdict, trace, .. }) => (verdict.to_string(), decisive(trace).map_or("", |entry| entry.step), because(trace)),
        Err(error) => ("error".to_owned(), "", error.message().to_owned()),
    };
    let right_step = case.step.as_deref().is_none_or(|wanted| wanted == step);
    let by = case.step.as_ref().map(|step| format!(" by the step '{step}'")).unwrap_or_default();
    let expected = format!("{}{by}", case.expect.as_str());
    Ok(CaseResult {
        title: title(case),
        expected,
        passed: got == case.expect.as_str() && right_step,
        decided: !step.is_empty(),
        got,
        because,
    })
}

fn title(case: &PolicyCase) -> String {
    case.name.clone().unwrap_or_else(|| {
        let arguments = case.arguments.as_ref().map(|arguments| format!(" {arguments}")).unwrap_or_default();
        format!("{}{arguments}", case.tool)
    })
}

fn in_words(checked: &[CaseResult], failed: usize) -> String {
    let mut page = TextBuilder::default();
    for case in checked {
        let (word, style) = if case.passed { ("ok  ", GOOD) } else { ("FAIL", ERROR) };
        page.line(format_args!("{style}{word}{style:#} {}: {}", display::escape_line(&case.title), case.expected));
        if !case.passed {
            let link = if case.decided { ", because of" } else { ":" };
            page.line(format_args!("     got {}{link} {}", case.got, display::escape_line(&case.because)));
        }
    }
    page.line(format_args!("\n{} of {} as expected", checked.len() - failed, checked.len()));
    page.finish()
}

fn to_json(checked: &[CaseResult]) -> Value {
    checked
        .iter()
        .map(|case| json!({ "name": case.title, "expected": case.expected, "got": case.got, "because": case.because, "passed": case.passed }))
        .collect()
}
