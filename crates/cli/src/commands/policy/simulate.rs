//! `haft policy simulate`: past calls, judged again.

use std::collections::BTreeMap;

use haft_contract::{Arguments, visible};
use haft_store::{CallFilter, CallRecord};
use serde_json::{Value, json};

use crate::arguments::{Common, Who};
use crate::commands::block_on;
use crate::commands::explain::because;
use crate::effects;
use crate::failure::{Exit, Failure};
use crate::output::{Output, print};
use crate::page::Page;
use crate::table::{Cell, Room, Table};
use crate::wire::{self, Explaining, Wire};

/// Calls that would get another verdict, put together where nothing but the time tells them apart.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Difference {
    tool: String,
    target: String,
    was: String,
    now: String,
    because: String,
}

/// What came of judging the history again.
#[derive(Debug, Default)]
struct Simulated {
    differences: BTreeMap<Difference, usize>,
    same: usize,
    /// Calls of which too little was kept, or whose tool is gone.
    unknown: usize,
}

pub(super) fn run(common: &Common, limit: u32, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    let explaining = wire.explaining()?;
    let simulated = block_on(async {
        let log = wire::history(&wire.settings.data_folder)?;
        let records = log.list(CallFilter::default()).await?;
        let here = records.iter().filter(|record| record.workspace == wire.settings.workspace).take(limit as usize);
        let mut simulated = Simulated::default();
        for record in here {
            simulated.add(&explaining, record, &wire).await;
        }
        Ok(simulated)
    })?;
    if output.json {
        output.data(&simulated.to_json())?;
    } else {
        print(&simulated.in_words(output.width))?;
    }
    Ok(Exit::Success)
}

impl Simulated {
    async fn add(&mut self, explaining: &Explaining<'_>, record: &CallRecord, wire: &Wire) {
        let Some(was) = record.decision["verdict"].as_str() else {
            self.unknown += 1;
            return;
        };
        let session = explaining.session(Some(&record.agent), &Who::default());
        let arguments = Arguments::Json(record.arguments.clone());
        let Ok(explanation) = explaining.engine.explain(&record.tool, Some(arguments), &session).await else {
            self.unknown += 1;
            return;
        };
        let now = explanation.verdict.as_str();
        if was == now {
            self.same += 1;
            return;
        }
        let target = effects::all(&record.effects).first().map(|effect| effects::describe(effect, &wire.settings.workspace).1);
        let difference = Difference {
            tool: record.tool.clone(),
            target: target.unwrap_or_default(),
            was: was.to_owned(),
            now: now.to_owned(),
            because: because(&explanation.trace),
        };
        *self.differences.entry(difference).or_default() += 1;
    }

    fn in_words(&self, width: Option<usize>) -> String {
        let mut page = Page::default();
        if !self.differences.is_empty() {
            let columns = [
                ("CALLS", Room::Keep),
                ("TOOL", Room::Keep),
                ("WHAT", Room::Wrap),
                ("WAS", Room::Keep),
                ("NOW", Room::Keep),
                ("BECAUSE", Room::Wrap),
            ];
            let mut table = Table::new(&columns);
            for (difference, count) in &self.differences {
                let (count, target) = (count.to_string(), visible::line(&difference.target));
                let texts = [count.as_str(), &difference.tool, &target, &difference.was, &difference.now, &difference.because];
                table.row(texts.into_iter().map(Cell::new).collect());
            }
            page.text(&table.render(width));
            page.line("");
        }
        let changed: usize = self.differences.values().sum();
        page.line(format_args!("{changed} of {} calls would get another verdict", changed + self.same + self.unknown));
        if self.unknown > 0 {
            page.line(format_args!("{} could not be judged again: too little of them was kept, or the tool is gone", self.unknown));
        }
        page.finish()
    }

    fn to_json(&self) -> Value {
        let difference = |(difference, count): (&Difference, &usize)| {
            let Difference { tool, target, was, now, because } = difference;
            json!({ "tool": tool, "target": target, "was": was, "now": now, "because": because, "calls": count })
        };
        json!({ "differences": self.differences.iter().map(difference).collect::<Vec<_>>(), "same": self.same, "unknown": self.unknown })
    }
}
