//! What files give a model: skills, instructions, commands of the user, and the system prompt that is made of them.
//!
//! Files of the user count always. Skills and commands of a project count once the user trusts it; its instructions are read always and
//! labelled, because people expect the `AGENTS.md` of a fresh clone to be read. None of them changes what a session may do: limits on
//! tools in their front matter only tighten.
#![warn(missing_docs)]
#![allow(clippy::disallowed_methods, reason = "the bans are for tools: this lists folders of the user and of a project")]

mod command;
mod environment;
mod files;
mod folders;
mod git;
mod instructions;
mod library;
mod memory;
mod mention;
mod skill;
mod skills;
mod system_prompt;
mod tool_advice;
mod watch;

pub use command::{UserCommand, UserCommands};
pub use environment::EnvironmentFacts;
pub use files::{PromptFileError, PromptFiles};
pub use folders::{PromptFolders, PromptOrigin};
pub use git::{GitState, repository_root};
pub use instructions::{InstructionFile, Instructions};
pub use library::{FolderSkills, content_rules, files_of as skill_files, narrowed_tools, unknown_tools};
pub use memory::MemoryHead;
pub use mention::{Mention, mentions, without_sign};
pub use skill::{SKILL_FILE, Skill, skill_template, valid_skill_name};
pub use skills::{PromptProblem, Skills};
pub use system_prompt::{PromptPart, SystemPrompt, SystemPromptParts};
pub use watch::{InstructionChange, InstructionWatch};
