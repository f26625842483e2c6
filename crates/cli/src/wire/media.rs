//! Pictures and speech as configured: the tools `image` and `tts` with what they can use.

use std::sync::Arc;

use haft_agent::Meter;
use haft_channels::Transcriber;
use haft_contract::ports::{SpeechServices, VisionModels};
use haft_contract::{DynTool, ToolSource};

use super::Wire;
use super::models::speech::{self, ConfiguredSpeech, ModelTranscriber};
use super::models::vision::{self, ConfiguredVision};
use super::transcription::CommandTranscriber;
use crate::failure::Failure;

impl Wire {
    /// Gives the tools `image` and `tts` what is configured; without it they are absent.
    pub(super) fn register_media(&self) -> Result<(), Failure> {
        let (models, faults) = vision::configured(&self.settings);
        let names = models.into_iter().map(|model| model.name).collect();
        let home = std::env::home_dir();
        self.replace_tool(haft_builtin::image_for(names, joined(&faults), home))?;
        let (engines, faults) = speech::engines(&self.settings);
        let fault = engines.is_empty().then(|| joined(&faults).unwrap_or_else(|| "nothing speaks here".to_owned()));
        self.replace_tool(haft_builtin::tts_for(fault))
    }

    fn replace_tool(&self, tool: Arc<dyn DynTool>) -> Result<(), Failure> {
        self.registry.replace(tool, ToolSource::BuiltIn).map(drop).map_err(|error| Failure::failed("execution_error", error.to_string()))
    }

    /// Offers the tool `canvas`: this server has a page. It was absent before, so nothing is lost if it stays so.
    pub(crate) fn offer_canvas(&self) {
        self.replace_tool(haft_builtin::canvas_on_a_page()).ok();
    }

    /// What speaks, if anything does.
    pub(super) fn speech(&self) -> Option<Arc<dyn SpeechServices>> {
        ConfiguredSpeech::new(&self.settings).map(|speech| Arc::new(speech) as _)
    }

    /// The models that look at pictures, if any are configured; this meter counts what they cost.
    pub(crate) fn vision(&self, meter: Arc<dyn Meter>) -> Option<Arc<dyn VisionModels>> {
        ConfiguredVision::new(&self.settings, meter).map(|vision| Arc::new(vision) as _)
    }

    /// What writes down voice messages, or why what is configured cannot.
    pub(crate) fn transcriber(&self) -> Option<Result<Arc<dyn Transcriber>, Failure>> {
        let model = ModelTranscriber::configured(&self.settings).map(|found| found.map(|model| Arc::new(model) as Arc<dyn Transcriber>));
        model.or_else(|| Some(CommandTranscriber::configured(&self.settings)?.map(|command| Arc::new(command) as _)))
    }
}

/// What pictures and speech can use, and why not.
pub(crate) struct MediaState {
    pub(crate) models: Vec<String>,
    pub(crate) model_faults: Vec<String>,
    pub(crate) engines: Vec<String>,
    pub(crate) engine_faults: Vec<String>,
    /// Whether voice messages are written down; `None` if nothing is configured.
    pub(crate) transcription: Option<Result<(), String>>,
}

/// The state of pictures and speech, for the user. Nothing is sent.
pub(crate) fn media_state(wire: &Wire) -> MediaState {
    let (models, model_faults) = vision::configured(&wire.settings);
    let (engines, engine_faults) = speech::engines(&wire.settings);
    MediaState {
        models: models.into_iter().map(|model| model.name).collect(),
        model_faults,
        engines: engines.into_iter().map(|engine| engine.name).collect(),
        engine_faults,
        transcription: wire.transcriber().map(|found| found.map(drop).map_err(|failure| failure.message.clone())),
    }
}

fn joined(faults: &[String]) -> Option<String> {
    (!faults.is_empty()).then(|| faults.join("; "))
}
