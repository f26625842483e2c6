//! `haft policy`: tests a policy with cases, or with recorded calls.

pub(crate) mod simulate;
mod test;

pub(crate) use self::simulate::decide_again;
use crate::arguments::{Common, PolicyCommand};
use crate::failure::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(common: &Common, command: &PolicyCommand, output: &Output) -> Result<Exit, Failure> {
    match command {
        PolicyCommand::Test { file } => test::run(common, file, output),
        PolicyCommand::Simulate { limit } => simulate::run(common, *limit, output),
    }
}
