//! Advice on a path outside the workspace: what opens it, and as little else as can be.

use haft_contract::{Access, AskMode, Effect};
use haft_text::paths::is_wide_folder;

use crate::effects::PlanCase;
use crate::{AskSubject, ConfigEdit, PolicySpec, canonical};

/// Reaches a path outside the workspace and as little else as can be: its folder as a root, or a rule on exactly this path, where
/// the folder would open much more.
pub(crate) fn reach(case: &PlanCase<'_>, effect: &Effect) -> Option<Vec<ConfigEdit>> {
    if case.spec.confined {
        return None;
    }
    let (path, _) = effect.path()?;
    let folder = path.location.folder()?;
    if is_wide_folder(folder, case.spec.home.as_deref()) {
        by_rule(case, effect)
    } else {
        as_root(effect, case.spec).map(|root| vec![root])
    }
}

/// A rule on exactly this effect, in a mode in which one answers for what goes beyond the access level. Where the user wants more
/// questions than that mode asks, the rule asks.
fn by_rule(case: &PlanCase<'_>, effect: &Effect) -> Option<Vec<ConfigEdit>> {
    let index = case.plan.effects().iter().position(|known| std::ptr::eq(known, effect))?;
    let rules = canonical(case.tool, case.plan, &[AskSubject::Effect(index)], &case.vocabulary.including(case.tool)).ok()?;
    let asks_more = matches!(case.ask, AskMode::Changes | AskMode::Always);
    let key = if asks_more { "rules.ask" } else { "rules.allow" };
    let mode = if asks_more { Vec::new() } else { case.spec.setting("ask", AskMode::Beyond.as_str()) };
    Some(mode.into_iter().chain(rules.into_iter().map(|rule| ConfigEdit::add(key, rule))).collect())
}

/// The folder of a path outside the workspace as another root, as wide as the effect needs it.
fn as_root(effect: &Effect, spec: &PolicySpec) -> Option<ConfigEdit> {
    let (path, changes) = effect.path()?;
    let folder = path.location.folder()?.to_str()?;
    let access = if changes { Access::WorkspaceWrite } else { Access::ReadOnly };
    Some(spec.adding("workspace.roots", &format!("{{ path = {folder:?}, access = \"{access}\" }}")))
}
