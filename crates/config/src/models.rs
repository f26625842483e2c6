//! Checks of models and prices, once all layers are merged.

use crate::key_path::format_path;
use crate::problem::{Problem, Problems};
use crate::provenance::Provenance;

/// Reports incomplete prices, and answers that fill the whole context window.
pub(crate) fn check(settings: &Provenance, problems: &mut Problems) {
    for model in settings.names_beneath(&["prices"]) {
        half_a_price(settings, &model, problems);
    }
    for model in settings.names_beneath(&["models"]) {
        output_fills_window(settings, &model, problems);
    }
}

/// A missing half would count as zero.
fn half_a_price(settings: &Provenance, model: &str, problems: &mut Problems) {
    let table = ["prices", model].map(str::to_owned);
    // A project's table was ignored as a whole.
    let Some(first) = settings.settings().iter().find(|setting| setting.path.starts_with(&table)) else { return };
    for field in ["input", "output"] {
        if settings.was_set(&["prices", model, field]) {
            continue;
        }
        let key = format_path(&table);
        let message = format!("'{key}' has no {field}, so its cost is unknown");
        problems.add(|| Problem::error(first.source.clone(), message).key(key).help("set both input and output"));
    }
}

fn output_fills_window(settings: &Provenance, model: &str, problems: &mut Problems) {
    let at = |field: &str| settings.get_at(&["models", model, field]);
    let (Some(window), Some(output)) = (at("context_window"), at("max_output")) else { return };
    if let (Some(most), Some(wanted)) = (window.value.as_count(), output.value.as_count())
        && wanted >= most
    {
        let key = format_path(&output.path);
        let message = format!("'{key}' ({wanted}) must be less than context_window ({most}, {})", window.source);
        let help = "the answer shares the context window with the request: lower max_output, or raise context_window";
        problems.add(|| Problem::error(output.source.clone(), message).key(key).help(help));
    }
}
