//! The command line of `haft skills`.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use crate::help;

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List the skills: yours, and those of a trusted project
    #[command(after_long_help = help::SKILLS_EXAMPLES)]
    List,
    /// Show a skill: what it is for, its files and its instructions
    #[command(after_long_help = help::SKILLS_EXAMPLES)]
    Show {
        /// The skill's name
        name: String,
    },
    /// Create a skill to fill in
    #[command(after_long_help = help::SKILLS_EXAMPLES)]
    New {
        /// Its name: lower-case letters, digits and hyphens
        name: String,
        /// What it does and when to use it
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Create it in .haft/skills of the workspace
        #[arg(long)]
        project: bool,
    },
    /// Check every skill, or those in a folder; exit code 1 if one cannot be used
    #[command(after_long_help = help::SKILLS_EXAMPLES)]
    Check {
        /// A folder with skills, or the folder of one
        #[arg(value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
    },
}
