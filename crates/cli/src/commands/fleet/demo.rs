//! `haft fleet demo`: a database, a queue, two servers and three workers on loopback, in a temporary folder that goes with them.

mod machine;

use std::time::{Duration, Instant};

use haft_text::display;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::machine::{DemoFleet, DemoProcess};
use crate::commands::block_on;
use crate::commands::interrupt::interruptible;
use crate::failure::{Exit, Failure};
use crate::output::{Output, note};

/// What is asked, one after the other by both servers. The demo model turns each into calls of tools.
const PROMPTS: [&str; 4] = ["what time is it?", "write hello to note.txt", "read note.txt", "how much memory is there?"];
/// A turn takes no longer, also when its worker is killed.
const TURN: Duration = Duration::from_mins(2);

/// Runs it to its end, or until it is stopped; in both cases nothing of it stays.
pub(super) fn run(output: &Output) -> Result<Exit, Failure> {
    let (stop, output) = (CancellationToken::new(), output.clone());
    block_on(async {
        let playing = tokio::task::spawn_blocking({
            let stop = stop.clone();
            move || play(&output, &stop)
        });
        let (played, stopped) = Box::pin(interruptible(playing, &stop)).await?;
        match stopped {
            Some(exit) => Ok(exit),
            None => played.unwrap_or_else(|error| Err(Failure::failed("execution_error", error.to_string()))),
        }
    })
}

fn play(output: &Output, stop: &CancellationToken) -> Result<Exit, Failure> {
    let fleet = DemoFleet::start(stop.clone())?;
    note("A database, a queue, two servers and three workers run on this machine.");
    let mut turns = Vec::new();
    for (index, prompt) in PROMPTS.into_iter().enumerate() {
        turns.push(finish(fleet.turn(index % 2, prompt)?, prompt, stop)?);
    }
    note("Four turns at once:");
    let started: Vec<_> = (0..4).map(|index| Ok((fleet.turn(index % 2, PROMPTS[0])?, PROMPTS[0]))).collect::<Result<Vec<_>, Failure>>()?;
    for (child, prompt) in started {
        turns.push(finish(child, prompt, stop)?);
    }
    note("One worker is killed with SIGKILL; the others have its work:");
    fleet.kill_worker();
    turns.push(finish(fleet.turn(1, PROMPTS[0])?, PROMPTS[0], stop)?);
    let status = fleet.status()?;
    let are_done = turns.iter().all(|turn| turn["exit"] == 0);
    let summary = json!({ "turns": turns, "workers": status["workers"].as_array().map_or(0, Vec::len), "aside": status["aside"] });
    drop(fleet);
    note("Everything was stopped and removed.");
    if output.json {
        output.data(&summary)?;
    }
    Ok(if are_done { Exit::Success } else { Exit::Failed })
}

/// Waits for a turn and shows its answer.
fn finish(mut child: DemoProcess, prompt: &str, stop: &CancellationToken) -> Result<Value, Failure> {
    let started = Instant::now();
    let done = child.wait(TURN, stop)?;
    let text = display::escape_lines(done.stdout.trim()).into_owned();
    note(&format!("> {prompt}\n  {}", text.replace('\n', "\n  ")));
    Ok(
        json!({ "prompt": prompt, "exit": done.code, "text": done.stdout.trim(), "ms": u64::try_from(started.elapsed().as_millis()).unwrap_or(0) }),
    )
}
