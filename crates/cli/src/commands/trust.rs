//! `haft trust`: what a project's file would start, and whether it may.

use haft_config::{FILES, Loaded, Pending, Problem};
use haft_contract::visible;
use serde_json::{Value, json};

use crate::arguments::{Common, Trust as Request};
use crate::failure::{Exit, Failure};
use crate::output::{CARE, GOOD, Output, print};
use crate::page::Page;
use crate::wire::{self, Trust, Trusted};

pub(crate) fn run(common: &Common, request: Request, output: &Output) -> Result<Exit, Failure> {
    let workspace = wire::workspace(common)?;
    let mut trusted = Trusted::read(&wire::data_folder()?)?;
    if request.revoke {
        let there = trusted.remove(&workspace)?;
        let words = if there { "the project's file is no longer trusted" } else { "the project's file was not trusted" };
        return say(output, words, &json!({ "trusted": false, "changed": there }));
    }
    let loaded = wire::read(common, &workspace, &*wire::registry()?, Trust::Never);
    if let Some(problem) = of_project(&loaded).find(|problem| problem.severity == haft_config::Severity::Error) {
        return Err(Failure::config(format!("the project's file cannot be trusted while it has faults: {}", problem.message))
            .help("`haft config check` lists them"));
    }
    if let Some(why) = &loaded.untrustable {
        return Err(Failure::config(format!("the project's file cannot be trusted: {why}"))
            .help("have its hooks name fewer and smaller files of the workspace"));
    }
    let Some(fingerprint) = loaded.fingerprint.clone() else {
        return say(
            output,
            "there is no .haft/config.toml here, so there is nothing to trust",
            &json!({ "trusted": false, "changed": false }),
        );
    };
    let before = trusted.holds(&workspace, &fingerprint);
    if !request.show {
        trusted.add(&workspace, fingerprint)?;
    }
    show(&loaded, before, request, output)
}

fn of_project(loaded: &Loaded) -> impl Iterator<Item = &Problem> {
    loaded.problems.iter().filter(|problem| problem.source.layer == haft_config::Layer::Project)
}

fn say(output: &Output, words: &str, data: &serde_json::Value) -> Result<Exit, Failure> {
    if output.json {
        output.data(data)?;
    } else {
        print(&format!("{words}\n"))?;
    }
    Ok(Exit::Success)
}

fn show(loaded: &Loaded, before: bool, request: Request, output: &Output) -> Result<Exit, Failure> {
    let messages = |wanted: fn(&Problem) -> bool| -> Vec<String> {
        of_project(loaded).filter(|problem| wanted(problem)).map(|problem| problem.message.clone()).collect()
    };
    let ignored = messages(Problem::is_widening);
    let doubts = messages(|problem| problem.key.as_deref() == Some("hooks[].command"));
    let trusted = before || !request.show;
    if output.json {
        let starts: Vec<Value> = loaded.untrusted.iter().map(as_data).collect();
        let changed = trusted != before;
        let data = json!({ "trusted": trusted, "changed": changed, "starts": starts, "doubts": doubts, "ignored": ignored });
        output.data(&data)?;
        return Ok(Exit::Success);
    }
    let mut page = Page::default();
    page.line(match (before, request.show) {
        (true, _) => format!("{GOOD}trusted{GOOD:#}: everything is as it was when you trusted it"),
        (false, true) => format!("{CARE}not trusted{CARE:#}: what the project's file would start does not run"),
        (false, false) => format!("{GOOD}trusted{GOOD:#}: from now on, until the file or one that its hooks name changes"),
    });
    let lines = |texts: &[String]| texts.iter().map(|text| visible::line(text).into_owned()).collect::<Vec<_>>().join("\n");
    let starts: Vec<String> = loaded.untrusted.iter().flat_map(in_lines).collect();
    page.section(if trusted { "It starts" } else { "It would start" }, &if starts.is_empty() { "nothing".into() } else { lines(&starts) });
    page.section("Look at this first", &lines(&doubts));
    page.section("It cannot widen, so this is ignored", &lines(&ignored));
    print(&page.finish())?;
    Ok(Exit::Success)
}

/// What it is and every field of it, whole: nobody trusts what they were not shown.
fn in_lines(pending: &Pending) -> Vec<String> {
    let fields = pending.fields.iter().map(|(name, value)| format!("  {name}: {value}"));
    std::iter::once(format!("{} ({})", pending.what, pending.source)).chain(fields).collect()
}

fn as_data(pending: &Pending) -> Value {
    let mut object = json!({ "what": pending.what, "source": pending.source.to_string(), "files": [] });
    for (name, value) in &pending.fields {
        match (*name, &mut object["files"]) {
            (FILES, Value::Array(files)) => files.push(json!(value)),
            (name, _) => object[name] = json!(value),
        }
    }
    object
}
