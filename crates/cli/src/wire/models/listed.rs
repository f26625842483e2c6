//! Every model that is configured or found, and whether its provider answers.

use std::collections::HashMap;
use std::time::Duration;

use haft_agent::Price;
use haft_provider::{Model, ProviderError, Trouble};
use tokio::task::JoinHandle;

use super::setup::{Setup, own_providers, text_at};
use super::{Choice, DEMO, KNOWN, Settings, found, model, otherwise, parts, prices, written};

/// How long a provider has to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How it stands with a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Status {
    /// Its provider answers, and has it.
    Ok,
    /// It is a part of this program.
    BuiltIn,
    /// Its provider answers, and does not list it.
    NotListed,
    /// Its provider answers, and has no list to look it up in.
    NoList,
    /// Nobody asked.
    NotAsked,
    /// There is no key to ask with: the variable is not set, or the command did not give it for this reason.
    NoKey(Option<String>),
    /// The provider does not take the key.
    WrongKey(Option<u16>),
    /// The provider cannot be reached.
    Unreachable(String),
    /// The provider answers with something else.
    Failed(String),
    /// It is not set up so that anyone could be asked.
    Misconfigured(String),
}

/// A model in the list.
#[derive(Debug)]
pub(crate) struct Listed {
    /// As `provider/model`.
    pub(crate) name: String,
    /// What is known of it; none for one that is not set up, or built in.
    pub(crate) remote: Option<(Setup, Model)>,
    pub(crate) price: Option<Price>,
    pub(crate) status: Status,
    /// Why it is the one that is taken when none is named; none for all others.
    pub(crate) active: Option<String>,
}

/// Every model. Only providers on this machine are asked, unless all shall be.
pub(crate) async fn list(settings: &Settings, ask_all: bool) -> Vec<Listed> {
    let found = found(settings).await;
    let chosen = written(settings).unwrap_or_else(|| otherwise(&found));
    let mut names = names(settings, &chosen);
    let local = found.iter().flat_map(|found| found.models.iter().map(|model| format!("{}/{model}", found.server.name)));
    local.chain([DEMO.to_owned()]).for_each(|name| push(&mut names, name));
    let prices = prices(settings);
    let mut listed: Vec<Listed> = names.into_iter().map(|name| unasked(settings, name)).collect();
    for one in &mut listed {
        one.price = prices.of(&one.name).copied();
        one.active = (one.name == chosen.name).then(|| chosen.reason.clone());
    }
    let mut answers: HashMap<String, Answer> = found.into_iter().map(|found| (found.server.name, Ok(found.models))).collect();
    ask(&listed, ask_all, &mut answers).await;
    for one in &mut listed {
        judge(one, &answers);
    }
    listed
}

/// The names that somebody wrote down, and the usual ones of providers whose key is there; each once.
fn names(settings: &Settings, chosen: &Choice) -> Vec<String> {
    let provenance = &settings.provenance;
    let mut names = vec![chosen.name.clone()];
    let agents = provenance.names_beneath(&["agents"]);
    let of_agents = agents.iter().filter_map(|agent| text_at(provenance, &["agents", agent, "model"]));
    text_at(provenance, &["model"]).into_iter().chain(of_agents).for_each(|name| push(&mut names, name.to_owned()));
    for provider in own_providers(provenance) {
        for model in provenance.entries_at(&["providers", &provider, "models"]) {
            push(&mut names, format!("{provider}/{}", model.value));
        }
    }
    let with_key = KNOWN.iter().filter(|known| Setup::of(settings, known.name).is_ok_and(|setup| setup.key.is_there()));
    with_key.for_each(|known| push(&mut names, format!("{}/{}", known.name, known.usual)));
    names
}

fn push(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

fn unasked(settings: &Settings, name: String) -> Listed {
    let set_up = parts(&name).and_then(|(provider, name)| {
        let setup = Setup::of(settings, provider)?;
        let model = model(settings, &setup, name);
        Ok((setup, model))
    });
    let (remote, status) = match set_up {
        _ if name == DEMO => (None, Status::BuiltIn),
        Ok(remote) => (Some(remote), Status::NotAsked),
        Err(failure) => (None, Status::Misconfigured(failure.message.clone())),
    };
    Listed { name, remote, price: None, status, active: None }
}

/// What a provider says: its models, or how it stands with all of them.
type Answer = Result<Vec<String>, Status>;

/// Asks each provider that may be asked once, all at the same time.
async fn ask(listed: &[Listed], ask_all: bool, answers: &mut HashMap<String, Answer>) {
    let mut asked: HashMap<&str, JoinHandle<Answer>> = HashMap::new();
    for (setup, model) in listed.iter().filter_map(|one| one.remote.as_ref()) {
        let may = ask_all || setup.is_local() && setup.key.program().is_none();
        if may && !answers.contains_key(&setup.name) && !asked.contains_key(setup.name.as_str()) {
            asked.insert(&setup.name, tokio::spawn(models_of(setup.clone(), model.clone())));
        }
    }
    for (provider, answer) in asked {
        let answer = answer.await.unwrap_or_else(|error| Err(Status::Failed(error.to_string())));
        answers.insert(provider.to_owned(), answer);
    }
}

async fn models_of(setup: Setup, model: Model) -> Answer {
    if !setup.key.is_there() {
        return Err(Status::NoKey(None));
    }
    let client = setup.client().map_err(|failure| Status::Misconfigured(failure.message.clone()))?;
    let mut endpoint = setup.endpoint().await.map_err(|failure| Status::NoKey(Some(failure.message.clone())))?;
    let timeouts = &mut endpoint.timeouts;
    (timeouts.connect, timeouts.first_byte, timeouts.idle, timeouts.total) = (PATIENCE, PATIENCE, PATIENCE, PATIENCE);
    client.models(&endpoint, &model).await.map_err(|error| troubled(&error))
}

fn troubled(error: &ProviderError) -> Status {
    let sentence = error.message.split_once(". ").map_or(error.message.as_str(), |(first, _)| first).trim_end_matches('.').to_owned();
    match (error.trouble, error.status) {
        (Trouble::Key, status) => Status::WrongKey(status),
        (Trouble::NotFound, Some(404)) => Status::NoList,
        (Trouble::Network | Trouble::Timeout, None) => Status::Unreachable(sentence),
        (Trouble::BadRequest, None) => Status::Misconfigured(sentence),
        _ => Status::Failed(sentence),
    }
}

fn judge(one: &mut Listed, answers: &HashMap<String, Answer>) {
    let Some((setup, model)) = &one.remote else { return };
    one.status = match answers.get(&setup.name) {
        Some(Ok(models)) if models.iter().any(|listed| is_same(listed, &model.name)) => Status::Ok,
        Some(Ok(_)) => Status::NotListed,
        Some(Err(status)) => status.clone(),
        None if !setup.key.is_there() => Status::NoKey(None),
        None => Status::NotAsked,
    };
}

/// Lists hold the names with their dates and tags, and people leave them out.
fn is_same(listed: &str, name: &str) -> bool {
    let Some(rest) = listed.strip_prefix(name.trim_end_matches("-latest")) else { return false };
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    let is_date = rest.starts_with('-') && digits == 8 && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    rest.is_empty() || is_date || rest.starts_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_tags_do_not_make_another_model() {
        for (listed, name, same) in [
            ("qwen3", "qwen3", true),
            ("qwen3:latest", "qwen3", true),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5", true),
            ("gpt-5-2025-08-07", "gpt-5", true),
            ("claude-3-5-haiku-20241022", "claude-3-5-haiku-latest", true),
            ("gpt-5-mini", "gpt-5", false),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4", false),
            ("qwen", "qwen3", false),
        ] {
            assert_eq!(is_same(listed, name), same, "{listed} and {name}");
        }
    }
}
