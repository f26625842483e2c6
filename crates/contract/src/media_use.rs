//! Models that look and voices that speak, as planned.

use crate::capability::{alive, unplanned};
use crate::ports::{SpeechEngine, SpeechHost, SpeechRequest, VisionModel, VisionQuestion};
use crate::{PlanContext, ToolContext, ToolError};

fn no_vision() -> ToolError {
    ToolError::execution("No model that looks at pictures is configured here. Ask the user to set image.models in the configuration.")
}

fn no_speech() -> ToolError {
    ToolError::execution("Nothing that speaks is configured here. Ask the user to install espeak-ng, or to set tts.engines.")
}

/// Models that look and voices that speak, as planned.
#[derive(Debug, Clone, Copy)]
pub struct MediaUse<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl MediaUse<'_> {
    /// Asks a model whose provider the plan names.
    pub async fn ask(&self, model: &VisionModel, question: &VisionQuestion) -> Result<String, ToolError> {
        alive(self.cx)?;
        let port = self.cx.host().services().vision.as_deref().ok_or_else(no_vision)?;
        if !self.cx.plan().permits_connect(&model.address) {
            return Err(unplanned("ask", &model.name));
        }
        port.ask(&model.name, question).await
    }

    /// Lets a service speak that the plan names.
    pub async fn speak(&self, engine: &SpeechEngine, request: &SpeechRequest) -> Result<Vec<u8>, ToolError> {
        alive(self.cx)?;
        let port = self.cx.host().services().speech.as_deref().ok_or_else(no_speech)?;
        let is_planned = matches!(&engine.host, SpeechHost::Service(address) if self.cx.plan().permits_connect(address));
        if !is_planned {
            return Err(unplanned("speak with", &engine.name));
        }
        port.speak(&engine.name, request).await
    }

    /// The models that look at pictures, in the order in which they are tried.
    pub fn vision_models(&self) -> Result<Vec<VisionModel>, ToolError> {
        self.cx.host().services().vision.as_deref().map(crate::ports::VisionModels::models).ok_or_else(no_vision)
    }

    /// What speaks, in the order in which it is tried.
    pub fn speech_engines(&self) -> Result<Vec<SpeechEngine>, ToolError> {
        self.cx.host().services().speech.as_deref().map(crate::ports::SpeechServices::engines).ok_or_else(no_speech)
    }
}

impl PlanContext<'_> {
    /// The models that look at pictures, for the plan.
    pub fn vision_models(&self) -> Result<Vec<VisionModel>, ToolError> {
        self.services().vision.as_deref().map(crate::ports::VisionModels::models).ok_or_else(no_vision)
    }

    /// What speaks, for the plan.
    pub fn speech_engines(&self) -> Result<Vec<SpeechEngine>, ToolError> {
        self.services().speech.as_deref().map(crate::ports::SpeechServices::engines).ok_or_else(no_speech)
    }
}
