//! `haft policy`: a policy against examples, or against what was called before.

mod simulate;
mod test;

use crate::arguments::{Common, Policy};
use crate::failure::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(common: &Common, command: &Policy, output: &Output) -> Result<Exit, Failure> {
    match command {
        Policy::Test { file } => test::run(common, file, output),
        Policy::Simulate { limit } => simulate::run(common, *limit, output),
    }
}
