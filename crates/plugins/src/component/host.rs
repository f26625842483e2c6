//! The functions that a component imports: each goes through a capability of its call, so each is checked against the plan.

use std::time::UNIX_EPOCH;

use haft_contract::ports::HttpRequest;
use haft_contract::{Progress, ToolContext, ToolError, WriteMode};
use haft_text::display;
use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use super::runtime::{ComponentState, INTERFACE};

/// The largest file that is read or written.
const MOST_FILE: usize = 16 << 20;
/// The largest body that is fetched.
const MOST_BODY: usize = 8 << 20;
const REDIRECTS: u8 = 5;
/// How much of a message is shown.
const SHOWN: usize = 200;

pub(super) fn add(linker: &mut Linker<ComponentState>) -> wasmtime::Result<()> {
    let mut host = linker.instance(INTERFACE)?;
    host.func_wrap("read-file", |cx: StoreContextMut<'_, ComponentState>, (path,): (String,)| {
        Ok((cx.data().wait(read_file(&cx.data().cx, &path)),))
    })?;
    host.func_wrap("write-file", |cx: StoreContextMut<'_, ComponentState>, (path, content): (String, Vec<u8>)| {
        Ok((cx.data().wait(write_file(&cx.data().cx, &path, content)),))
    })?;
    host.func_wrap("fetch", |cx: StoreContextMut<'_, ComponentState>, (url,): (String,)| Ok((cx.data().wait(fetch(&cx.data().cx, url)),)))?;
    host.func_wrap("progress", |cx: StoreContextMut<'_, ComponentState>, (message,): (String,)| {
        cx.data().cx.progress(Progress::message(display::shorten(&display::escape_line(&message), SHOWN)));
        Ok(())
    })?;
    host.func_wrap("now", |cx: StoreContextMut<'_, ComponentState>, (): ()| {
        let now = cx.data().cx.clock().now();
        Ok((now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),))
    })?;
    Ok(())
}

impl ComponentState {
    /// Waits for a capability, no longer than the call.
    fn wait<T>(&self, work: impl Future<Output = Result<T, ToolError>>) -> Result<T, String> {
        let mut stopped = self.stopped.clone();
        let done = self.runtime.block_on(async move {
            tokio::select! {
                biased;
                _ = stopped.wait_for(|stopped| *stopped) => Err(ToolError::execution("The call was stopped.")),
                done = work => done,
            }
        });
        done.map_err(|error| error.message().to_owned())
    }
}

async fn read_file(cx: &ToolContext, path: &str) -> Result<Vec<u8>, ToolError> {
    let reader = cx.fs().open(path).await?;
    if reader.size() > MOST_FILE as u64 {
        return Err(too_large(path, MOST_FILE));
    }
    reader.read_at(0, MOST_FILE).await
}

async fn write_file(cx: &ToolContext, path: &str, content: Vec<u8>) -> Result<(), ToolError> {
    if content.len() > MOST_FILE {
        return Err(too_large(path, MOST_FILE));
    }
    cx.fs().write(path, content, WriteMode::Overwrite).await.map(drop)
}

async fn fetch(cx: &ToolContext, url: String) -> Result<(u16, Vec<u8>), ToolError> {
    let request = HttpRequest { method: "GET".into(), url: url.clone(), headers: Vec::new(), body: None, redirects: REDIRECTS };
    let mut response = cx.http().send(request).await?;
    let mut body = Vec::new();
    while let Some(piece) = response.body.chunk().await? {
        if body.len() + piece.len() > MOST_BODY {
            return Err(too_large(&url, MOST_BODY));
        }
        body.extend_from_slice(&piece);
    }
    Ok((response.status, body))
}

fn too_large(what: &str, most: usize) -> ToolError {
    ToolError::execution(format!(
        "'{}' is larger than {}, the most here.",
        display::shorten(what, SHOWN),
        haft_text::numbers::size(most as u64)
    ))
}
