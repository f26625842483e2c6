mod load;
mod reference;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::PathBuf;

use haft_contract::ports::{VisionModel, VisionQuestion};
use haft_contract::{
    AbsentTool, Dialect, ErrorKind, Form, FormParameter, Plan, PlanContext, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput,
};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::load::LoadedPicture;
use self::reference::{PictureSource, Reference};
use crate::shared::untrusted;

const MOST_IMAGES: usize = 20;
/// Larger sources are refused.
const MOST_MEGABYTES: u32 = 32;
const MAX_TOKENS: u32 = 4096;
const DESCRIBE: &str = "Describe the image.";

/// Ask a model that sees about one or several pictures: files, data: URLs or addresses on the web, as PNG, JPEG, GIF or WebP. Returns its
/// answer as text. If you see pictures yourself, use read_file or web_fetch instead: they show them to you.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Look at images",
    section = Media,
    category = Io,
    timeout_secs = 60,
    rules = Read,
    forms = FORMS,
    profiles = ["coding"],
    read_only,
    open_world
)]
pub(crate) struct Image {
    /// The configured models.
    models: Vec<String>,
    /// Why none of them can be used.
    fault: Option<String>,
    /// What `~` stands for.
    home: Option<PathBuf>,
}

const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "image")
    .parameters(&[FormParameter::new("maxBytesMb", "max_bytes_mb"), FormParameter::new("maxImages", "max_images")])];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// What to find out. Defaults to a description.
    prompt: Option<String>,
    /// One picture: a path, a file:, data: or http(s) URL.
    image: Option<String>,
    /// Several pictures, at most 20; the same one counts once.
    #[serde(default)]
    images: Vec<String>,
    /// The model to ask, one of those that the user configured. Defaults to the first; the others are asked if it fails.
    #[schemars(extend("x-rare" = true))]
    model: Option<String>,
    /// The largest size of a picture in megabytes. Defaults to 32.
    #[schemars(range(min = 1, max = 32))]
    #[schemars(extend("x-rare" = true))]
    max_bytes_mb: Option<u32>,
    /// How many pictures to accept at most. Defaults to 20.
    #[schemars(range(min = 1, max = 20))]
    #[schemars(extend("x-rare" = true))]
    max_images: Option<usize>,
}

impl Image {
    /// Without a model: it is not offered.
    pub(crate) const fn new() -> Self {
        Self { models: Vec::new(), fault: None, home: None }
    }

    /// With the models that are configured.
    pub(crate) fn with(models: Vec<String>, fault: Option<String>, home: Option<PathBuf>) -> Self {
        Self { models, fault, home }
    }

    fn references(&self, params: &Params) -> Result<Vec<Reference>, ToolError> {
        let named = params.image.iter().chain(&params.images).map(|text| text.trim()).filter(|text| !text.is_empty());
        let mut texts: Vec<&str> = Vec::new();
        for text in named {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let most = params.max_images.unwrap_or(MOST_IMAGES).min(MOST_IMAGES);
        if texts.is_empty() {
            return Err(ToolError::validation("Missing required parameter: 'image'. Name a picture in image, or several in images."));
        }
        if texts.len() > most {
            let message = format!("Too many images: {}, and {most} are the most. Ask about them in several calls.", texts.len());
            return Err(ToolError::validation(message).with_details(json!({"error": "too_many_images", "count": texts.len(), "max": most})));
        }
        texts.into_iter().map(|text| Reference::parse(text, self.home.as_deref())).collect()
    }
}

/// The models to ask, in order.
fn chain(params: &Params, models: Vec<VisionModel>) -> Result<Vec<VisionModel>, ToolError> {
    let Some(wanted) = &params.model else { return Ok(models) };
    let names: Vec<String> = models.iter().map(|model| model.name.clone()).collect();
    let found: Vec<VisionModel> = models.into_iter().filter(|model| model.name == *wanted).collect();
    if found.is_empty() {
        let (wanted, names) = (crate::shared::brief(wanted), names.join(", "));
        return Err(ToolError::validation(format!("The model '{wanted}' is not configured to look at images. There are: {names}.")));
    }
    Ok(found)
}

impl Tool for Image {
    type Params = Params;
    type Output = ToolOutput;

    fn describe(&self) -> ToolDefinition {
        let mut definition = ToolDefinition::for_tool::<Self>();
        if self.models.is_empty() {
            let why = match &self.fault {
                Some(fault) => format!("no model that sees can be used: {fault}").into(),
                None => Cow::Borrowed("no model that sees is configured"),
            };
            let advice = "set image.models = [\"anthropic/claude-sonnet-4-5\"] in your config.toml; see docs/MEDIA.md".into();
            definition.absent = Some(AbsentTool { why, advice });
        } else if let Some(model) = definition.parameters.pointer_mut("/properties/model").and_then(Value::as_object_mut) {
            model.insert("enum".to_owned(), json!(self.models));
        }
        definition
    }

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let mut plan = Plan::nothing();
        for reference in self.references(params)? {
            plan = match &reference.source {
                PictureSource::File(path) => plan.read(cx.locate(path)?),
                PictureSource::Web(url) => plan.connect(cx.connect("GET", url)?),
                PictureSource::Inline(_) => plan,
            };
        }
        let models = chain(params, cx.vision_models()?)?;
        Ok(models.into_iter().fold(plan, |plan, model| plan.connect(model.address)))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let references = self.references(&params)?;
        let most = params.max_bytes_mb.unwrap_or(MOST_MEGABYTES).min(MOST_MEGABYTES) as usize * 1024 * 1024;
        let (count, mut loaded) = (references.len(), Vec::with_capacity(references.len()));
        for reference in &references {
            loaded.push(load::picture(reference, most, count, cx).await?);
        }
        let is_foreign = references.iter().any(|reference| matches!(reference.source, PictureSource::Web(_)));
        let images: Vec<Value> = references.iter().zip(&loaded).map(|(reference, picture)| details(reference, picture)).collect();
        let prompt = params.prompt.clone().filter(|prompt| !prompt.trim().is_empty()).unwrap_or_else(|| DESCRIBE.to_owned());
        let pictures = loaded.into_iter().map(|picture| picture.picture).collect();
        let question = VisionQuestion { prompt, pictures, max_tokens: MAX_TOKENS };
        let (model, answer, attempts) = ask(chain(&params, cx.media().vision_models()?)?, &question, cx).await?;
        let text = if is_foreign { untrusted::wrap("what a model sees in a picture from the web", &answer) } else { answer };
        Ok(ToolOutput::text(text).with_details(json!({"model": model, "images": images, "attempts": attempts, "untrusted": is_foreign})))
    }
}

/// Asks one model after the other until one answers.
async fn ask(models: Vec<VisionModel>, question: &VisionQuestion, cx: &ToolContext) -> Result<(String, String, Vec<Value>), ToolError> {
    let mut attempts = Vec::new();
    for model in models {
        match cx.media().ask(&model, question).await {
            Ok(answer) => {
                attempts.push(json!({"model": model.name}));
                return Ok((model.name, answer, attempts));
            }
            Err(error) if error.kind() == ErrorKind::Cancelled || cx.is_cancelled() => return Err(error),
            Err(error) => attempts.push(json!({"model": model.name, "error": error.message()})),
        }
    }
    let failures: Vec<String> =
        attempts.iter().filter_map(|one| Some(format!("{}: {}", one["model"].as_str()?, one["error"].as_str()?))).collect();
    let message = format!("No model could look at it. {} Tell the user, who configures image.models.", failures.join(" "));
    Err(ToolError::execution(message).with_details(json!({"attempts": attempts})))
}

fn details(reference: &Reference, loaded: &LoadedPicture) -> Value {
    let mut details = json!({
        "image": reference.describe(),
        "mime": loaded.mime,
        "width": loaded.size.0,
        "height": loaded.size.1,
        "sent": {"mime": loaded.picture.mime, "width": loaded.shown.0, "height": loaded.shown.1, "bytes": loaded.picture.data.len()},
    });
    if loaded.is_animated {
        details["animated"] = json!("the first frame was sent");
    }
    if let Some(before) = &reference.rewritten_from {
        details["rewritten_from"] = json!(before);
    }
    details
}
