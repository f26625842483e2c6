mod diffs;
mod fuzzy;
mod parsing;
mod plans;
mod properties;
mod refusals;
mod scenarios;
