//! Commands of the user in `run` and `chat`: `/name arguments`.

use haft_contract::TurnLimit;
use haft_prompts::{PromptOrigin, UserCommand, UserCommands};
use haft_text::suggest;
use haft_tui::chat::{CommandChoice, NamedFiles, Prompt, command_names};

use crate::failure::Failure;
use crate::output::warn;
use crate::wire::Wire;

/// All commands of the user.
pub(crate) async fn all(wire: &Wire) -> Result<UserCommands, Failure> {
    wire.prompts.commands(&command_names()).await
}

/// Prints what is wrong with command files.
pub(crate) fn warn_of_problems(commands: &UserCommands) {
    for problem in &commands.problems {
        warn(&format!("{}: {}", problem.path.display(), problem.message));
    }
}

/// For help and completion.
pub(crate) fn choices(commands: &UserCommands) -> Vec<CommandChoice> {
    let choice = |command: &UserCommand| CommandChoice {
        name: command.name.clone(),
        takes: command.takes.clone(),
        about: format!("{} ({})", command.description, command.origin.as_str()),
    };
    commands.commands.iter().map(choice).collect()
}

/// The prompt of a command.
pub(crate) async fn expand(wire: &Wire, name: &str, arguments: &str) -> Result<Prompt, Failure> {
    let commands = all(wire).await?;
    let Some(command) = commands.find(name) else {
        let near = suggest::closest(name, commands.commands.iter().map(|command| command.name.as_str()));
        let meant = near.map(|near| format!("did you mean /{near}? ")).unwrap_or_default();
        return Err(Failure::usage(format!("there is no command '/{name}'")).help(format!("{meant}{}", where_from(wire))));
    };
    let limit = command.limit(&|tool| wire.prompts.canonical(tool));
    Ok(Prompt {
        text: command.prompt(arguments),
        files: if command.origin == PromptOrigin::User { NamedFiles::Anywhere } else { NamedFiles::Readable },
        limit: limit.map(|tools| TurnLimit::new(tools, format!("the command '/{name}'"))),
        folder: command.folder.clone(),
    })
}

fn where_from(wire: &Wire) -> String {
    let trust = wire.prompts.sources().is_ok_and(|(folders, _)| folders.is_trusted);
    let project = if trust { "" } else { "; those of a project need `haft trust`" };
    format!("commands are Markdown files in the folder 'commands' beside your configuration{project}; nothing was sent to the model")
}

/// The name and the arguments of a prompt that is a command. A path has more than one slash.
pub(crate) fn parse(prompt: &str) -> Option<(&str, &str)> {
    let rest = prompt.trim().strip_prefix('/')?;
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    (!name.is_empty() && !name.contains('/')).then(|| (name, arguments.trim()))
}
