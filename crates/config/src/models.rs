//! What is said of models, once all layers are together: prices that are whole, and answers that fit their window.

use crate::Value;
use crate::path::written;
use crate::problem::{Problem, Problems};
use crate::provenance::Provenance;

/// Notes prices of which a half is missing, and answers that leave no room for a question.
pub(crate) fn judge(settings: &Provenance, problems: &mut Problems) {
    for model in settings.names_beneath(&["prices"]) {
        half_a_price(settings, &model, problems);
    }
    for model in settings.names_beneath(&["models"]) {
        no_room(settings, &model, problems);
    }
}

/// The other half would count as nothing.
fn half_a_price(settings: &Provenance, model: &str, problems: &mut Problems) {
    let table = ["prices", model].map(str::to_owned);
    // Of a project's table nothing is left.
    let Some(first) = settings.settings().iter().find(|setting| setting.path.starts_with(&table)) else { return };
    for field in ["input", "output"] {
        if settings.was_set(&["prices", model, field]) {
            continue;
        }
        let key = written(&table);
        let message = format!("'{key}' has no {field}: what it costs cannot be told");
        problems.add(|| Problem::error(first.source.clone(), message).key(key).help("set both input and output"));
    }
}

fn no_room(settings: &Provenance, model: &str, problems: &mut Problems) {
    let at = |field: &str| settings.get_at(&["models", model, field]);
    let (Some(window), Some(output)) = (at("context_window"), at("max_output")) else { return };
    let (Value::Count(most), Value::Count(wanted)) = (&window.value, &output.value) else { return };
    if wanted >= most {
        let key = written(&output.path);
        let message = format!("'{key}' ({wanted}) must be less than context_window ({most}, {})", window.source);
        let help = "an answer and what it answers share the window: lower the one, or raise the other";
        problems.add(|| Problem::error(output.source.clone(), message).key(key).help(help));
    }
}
