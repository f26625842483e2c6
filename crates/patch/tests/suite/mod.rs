mod diffs;
mod ladder;
mod parsing;
mod plans;
mod properties;
mod refusals;
mod scenarios;
