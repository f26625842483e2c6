//! `haft fleet`: how the servers and workers of several machines stand.

mod demo;
mod status;

use crate::arguments::FleetCommand;
use crate::failure::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(command: &FleetCommand, output: &Output) -> Result<Exit, Failure> {
    match command {
        FleetCommand::Status => status::run(output),
        FleetCommand::Demo => demo::run(output),
    }
}
