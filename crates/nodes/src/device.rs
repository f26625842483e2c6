//! What a node has beyond files and commands: cameras, screens, a location, and commands that its user declared.
//!
//! These tools are registered on a node alone. Each is off until the configuration of the node switches it on, and its effect names the
//! device, so that rules of the node hold for it.

mod camera;
mod capture;
mod invoke;
mod location;
mod screen;

use std::sync::Arc;

use haft_contract::{DynTool, Effect, Erased, Plan, ToolError};

pub use self::invoke::DeclaredCommand;

/// What the configuration of a node switches on.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DeviceSettings {
    /// Cameras.
    pub camera: bool,
    /// The screen.
    pub screen: bool,
    /// Where the machine is.
    pub location: bool,
    /// Commands that can be invoked by name.
    pub commands: Vec<DeclaredCommand>,
}

impl DeviceSettings {
    /// What can be asked of the node.
    pub fn actions(&self) -> Vec<String> {
        let always = ["run", "read", "write", "list", "notify", "device_status", "device_info"];
        let cameras = ["camera_list", "camera_snap"].into_iter().filter(|_| self.camera);
        let screens = std::iter::once("screen_record").filter(|_| self.screen);
        let locations = std::iter::once("location_get").filter(|_| self.location);
        let fixed = always.into_iter().chain(cameras).chain(screens).chain(locations).map(str::to_owned);
        fixed.chain(self.commands.iter().map(|command| format!("invoke {}", command.name))).collect()
    }
}

/// The tools of devices, for a node.
pub fn tools(settings: &DeviceSettings) -> Vec<Arc<dyn DynTool>> {
    let settings = Arc::new(settings.clone());
    vec![
        Arc::new(Erased::new(camera::CameraSnap(Arc::clone(&settings)))),
        Arc::new(Erased::new(camera::CameraList(Arc::clone(&settings)))),
        Arc::new(Erased::new(screen::ScreenRecord(Arc::clone(&settings)))),
        Arc::new(Erased::new(location::LocationGet(Arc::clone(&settings)))),
        Arc::new(Erased::new(invoke::NodeInvoke(settings))),
    ]
}

/// The plan to use a device, or why it is off.
fn plan(is_on: bool, key: &str, action: &str, target: &str) -> Result<Plan, ToolError> {
    if !is_on {
        return Err(ToolError::denied(format!(
            "This machine does not share this: its configuration has {key} = false. Its user can change that."
        )));
    }
    Ok(Plan::nothing().with(Effect::Node { node: Effect::THIS_MACHINE.into(), action: action.into(), target: target.into() }))
}
