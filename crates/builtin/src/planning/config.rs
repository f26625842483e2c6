use haft_contract::ports::{SettingChange, SettingReport};
use haft_contract::{Dialect, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use haft_text::numbers::count;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// How many settings one read shows.
const MAX_SHOWN: usize = 100;
const FORMS: &[Form] = &[Form::new(Dialect::Claw, "Config")];

/// Read a setting of this program with its source, or set one. Without 'value' it is read; a part of a key, such as 'context', reads all
/// settings beneath it. Only display settings and the like can be set: what you may do, and where data goes, is for the user to decide,
/// with `haft config` and the configuration file.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "config",
    label = "Settings",
    section = Planning,
    category = System,
    access = WorkspaceWrite,
    timeout_secs = 30,
    rules = Configure,
    aliases = ["Config"],
    forms = FORMS
)]
pub(crate) struct ConfigTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The key, such as 'context.compact_percent'.
    #[schemars(extend("x-aliases" = ["key"]))]
    setting: String,
    /// The new value, as text. Without it the setting is read.
    value: Option<String>,
}

impl Tool for ConfigTool {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let settings =
            cx.services().settings.as_ref().ok_or_else(|| ToolError::execution("This program has no settings that tools can read."))?;
        match &params.value {
            None => Ok(Plan::nothing()),
            Some(value) => Ok(Plan::nothing().configure(settings.check(&params.setting, &json!(value))?.key)),
        }
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Params { setting, value } = params;
        let Some(value) = value else { return Ok(show(&cx.settings().read(&setting)?)) };
        let (change, diff) = cx.settings().write(&setting, &json!(value)).await?;
        Ok(report(&change, &diff))
    }
}

fn show(settings: &[SettingReport]) -> ToolOutput {
    let line = |setting: &SettingReport| {
        let may = if setting.is_settable { "; you may set it" } else { "" };
        format!("{} = {} ({}{may})", setting.key, setting.value, setting.source)
    };
    let mut lines: Vec<String> = settings.iter().take(MAX_SHOWN).map(line).collect();
    let left = settings.len().saturating_sub(MAX_SHOWN);
    if left > 0 {
        lines.push(format!("({} more: name a longer part of the key)", count(left, "setting")));
    }
    let rows: Vec<Value> = settings.iter().take(MAX_SHOWN).map(details).collect();
    let mut details = json!({"operation": "get", "settings": rows});
    if let [setting] = settings {
        (details["setting"], details["value"]) = (json!(setting.key), setting.value.clone());
    }
    ToolOutput::text(lines.join("\n")).with_details(details)
}

fn details(setting: &SettingReport) -> Value {
    let SettingReport { key, value, source, is_settable } = setting;
    json!({"setting": key, "value": value, "source": source, "settable": is_settable})
}

fn report(change: &SettingChange, diff: &str) -> ToolOutput {
    let SettingChange { key, before, value, file } = change;
    let text = format!(
        "Set {key} to {value} (it was {before}) in {}. It holds from the next start on; `haft undo` takes it back.\n{diff}",
        file.display()
    );
    let details = json!({
        "operation": "set",
        "setting": key,
        "previous_value": before,
        "new_value": value,
        "file": file.to_string_lossy(),
        "diff": diff,
    });
    ToolOutput::text(text.trim_end()).with_details(details)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use haft_contract::ports::{Journal, Services, SettingsAccess};
    use haft_contract::{BoxFuture, DynTool, Erased, ErrorKind};
    use haft_testkit::{FakeHost, expect_error, run_tool};

    use super::*;

    #[derive(Default)]
    struct Settings(Mutex<Vec<String>>);

    impl SettingsAccess for Settings {
        fn read(&self, key: &str) -> Result<Vec<SettingReport>, ToolError> {
            let setting = |number: usize| SettingReport {
                key: format!("{key}.{number}"),
                value: json!(number),
                source: "config.toml:1:2".into(),
                is_settable: number == 0,
            };
            Ok((0..if key == "all" { 102 } else { 1 }).map(setting).collect())
        }
        fn check(&self, key: &str, value: &Value) -> Result<SettingChange, ToolError> {
            if key == "access" {
                return Err(ToolError::denied("not for a model"));
            }
            Ok(SettingChange { key: key.into(), before: json!(1), value: value.clone(), file: "/home/config.toml".into() })
        }
        fn write<'a>(&'a self, change: &'a SettingChange, _: &'a dyn Journal) -> BoxFuture<'a, Result<String, ToolError>> {
            self.0.lock().unwrap().push(change.key.clone());
            Box::pin(async { Ok("-old\n+new\n".into()) })
        }
    }

    fn host() -> (Arc<FakeHost>, Arc<Settings>) {
        let (host, mut services, settings) = (FakeHost::new(), Services::default(), Arc::new(Settings::default()));
        services.settings = Some(Arc::clone(&settings) as _);
        assert!(host.services.set(services).is_ok());
        (host, settings)
    }

    async fn call(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
        run_tool(&Erased::new(ConfigTool), arguments, Arc::clone(host)).await
    }

    #[tokio::test]
    async fn settings_are_read_and_written() {
        let (host, settings) = host();
        let read = call(&host, json!({"setting": "display"})).await.unwrap();
        assert_eq!(read.texts().collect::<String>(), "display.0 = 0 (config.toml:1:2; you may set it)");
        let all = call(&host, json!({"setting": "all"})).await.unwrap();
        assert!(
            all.texts().collect::<String>().ends_with("all.99 = 99 (config.toml:1:2)\n(2 settings more: name a longer part of the key)")
        );
        let written = call(&host, json!({"setting": "display.x", "value": "2"})).await.unwrap();
        let text = "Set display.x to \"2\" (it was 1) in /home/config.toml. It holds from the next start on; `haft undo` takes it \
                    back.\n-old\n+new";
        assert_eq!(written.texts().collect::<String>(), text);
        assert_eq!(*settings.0.lock().unwrap(), ["display.x"]);
    }

    #[tokio::test]
    async fn a_refused_key_is_not_written() {
        let (host, settings) = host();
        let refused = expect_error(call(&host, json!({"setting": "access", "value": "full-access"})).await);
        assert_eq!(refused, (ErrorKind::PermissionDenied, "not for a model".into()));
        assert_eq!(*settings.0.lock().unwrap(), Vec::<String>::new());
        let absent = expect_error(call(&FakeHost::new(), json!({"setting": "access"})).await);
        assert_eq!(absent.1, "This program has no settings that tools can read.");
    }

    #[test]
    fn the_plan_names_the_key() {
        let (host, _) = host();
        for (arguments, effects) in [
            (json!({"setting": "display.x"}), json!([])),
            (json!({"setting": "display.x", "value": "2"}), json!([{"effect": "configure", "key": "display.x"}])),
        ] {
            let prepared = Erased::new(ConfigTool).prepare(arguments, &PlanContext::new(&*host)).unwrap();
            assert_eq!(serde_json::to_value(prepared.plan().effects()).unwrap(), effects);
        }
    }
}
