//! Helpers for the results of tools: pictures that are brought into the limits of providers.
//!
//! `ToolOutput::image` of the contract refuses a picture that is beyond the limits; these scale it, take the first frame of an animation,
//! apply its orientation and leave its metadata out, as `read_file` and `web_fetch` do.

use std::path::Path;

use haft_contract::{ErrorKind, ImageLimits, ToolContext, ToolError, ToolOutput};

use crate::shared::picture::{LARGEST, PictureFormat, describe, prepared, refused};
use crate::shared::read_all::read_all;

/// A picture with its label, within the limits. The label is followed by what the picture is and how it is shown.
pub async fn image_result(label: &str, data: Vec<u8>, limits: ImageLimits) -> Result<ToolOutput, ToolError> {
    let format = PictureFormat::detect(&data).ok_or_else(|| {
        let what = if data.is_empty() { "is empty" } else { "is not a picture that models see" };
        ToolError::new(ErrorKind::NotText, format!("Not an image: {label} {what}. Use PNG, JPEG, GIF or WebP."))
    })?;
    let size = data.len();
    let picture = prepared(limits, format, data).await?.map_err(|fault| refused(label, format, size, &fault))?;
    let text = format!("{label}: {}", describe(format, size, &picture));
    ToolOutput::image(text, picture.data, limits)
}

/// The same, with a file that the plan of the call reads.
pub async fn image_result_from_file(
    label: &str,
    path: impl AsRef<Path>,
    limits: ImageLimits,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let reader = cx.fs().open(path.as_ref()).await?;
    let data = read_all(&path.as_ref().display().to_string(), "an image", Vec::new(), &*reader, LARGEST).await?;
    image_result(label, data, limits).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::{Content, Erased, Plan, PlanContext, Tool};
    use haft_macros::ToolMeta;
    use haft_testkit::{FakeHost, expect_error, run_tool};
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::shared::picture::tests::sample;

    /// Shows a file.
    #[derive(Debug, ToolMeta)]
    #[tool(name = "show_chart", section = Media, category = Io)]
    struct ShowChart;

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Params {
        /// Path of the file.
        path: String,
        /// Path that is planned.
        planned: String,
    }

    impl Tool for ShowChart {
        type Params = Params;
        type Output = ToolOutput;

        fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
            Ok(Plan::nothing().read(cx.locate(&params.planned)?))
        }

        async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
            image_result_from_file("chart", &params.path, ImageLimits::default(), cx).await
        }
    }

    #[tokio::test]
    async fn picture_of_a_file_is_the_one_that_was_planned() {
        let host = FakeHost::new();
        host.files.put("a.png", sample(PictureFormat::Png, 20, 10));
        host.files.put("b.png", sample(PictureFormat::Png, 20, 10));
        let tool = Erased::new(ShowChart);
        let call = |path: &str| run_tool(&tool, json!({"path": path, "planned": "a.png"}), Arc::clone(&host));
        let shown = call("a.png").await.unwrap();
        assert!(matches!(&shown.content[..], [Content::Text(text), Content::Image { .. }] if text.starts_with("chart: image/png, 20x10")));
        assert_eq!(expect_error(call("b.png").await).0, ErrorKind::PermissionDenied);
    }

    #[tokio::test]
    async fn pictures_of_tools_are_brought_into_their_limits() {
        let limits = ImageLimits::default().side(100);
        let data = sample(PictureFormat::Png, 300, 30);
        let size = haft_text::numbers::size(data.len() as u64);
        let output = image_result("chart", data, limits).await.unwrap();
        let [Content::Text(text), Content::Image { mime, data }] = &output.content[..] else { panic!("{output:?}") };
        assert_eq!(
            (text.as_str(), mime.as_str()),
            (format!("chart: image/png, 300x30 pixels, {size}. Shown at 100x10.").as_str(), "image/png")
        );
        assert_eq!(image::load_from_memory(data).unwrap().width(), 100);
        for (data, message) in [
            (Vec::new(), "Not an image: chart is empty. Use PNG, JPEG, GIF or WebP."),
            (b"<svg onload='x()'/>".to_vec(), "Not an image: chart is not a picture that models see. Use PNG, JPEG, GIF or WebP."),
        ] {
            assert_eq!(expect_error(image_result("chart", data, limits).await), (ErrorKind::NotText, message.to_owned()));
        }
    }
}
