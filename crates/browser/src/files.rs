//! Files for pages, and files of pages. They pass through a folder that the browser sees, and that ends with it.

use std::path::Path;

use haft_contract::ports::{BrowserReply, PageFile};
use haft_contract::{ErrorKind, ToolError};
use haft_jobs::IsolatedCommand;
use haft_text::{display, numbers};
use serde_json::{Value, json};

use crate::acts::PLAIN_CLICK;
use crate::browser::Browser;
use crate::events::LARGEST_FILE;
use crate::failure::PageError;
use crate::page::{ElementHandle, TabHandle};
use crate::state::{Download, DownloadState};

const UPLOADS: &str = "uploads";
const DOWNLOADS: &str = "downloads";
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

impl Browser {
    /// Gives files to a field of the page, or to the one that a click on the element opens.
    pub(crate) async fn upload(
        &self,
        tab: &TabHandle,
        reference: Option<&str>,
        selector: Option<&str>,
        files: &[PageFile],
    ) -> Result<BrowserReply, ToolError> {
        let element = match (reference, selector) {
            (Some(reference), _) => self.element(tab, reference)?,
            (None, Some(selector)) => {
                let number = self.script(tab, &tab.target, &format!("numberOf({})", json!(selector))).await?;
                ElementHandle { frame: tab.target.clone(), number: number.as_u64().unwrap_or_default(), reference: selector.to_owned() }
            }
            (None, None) => return Err(ToolError::validation("Missing required parameter: 'ref'. Give the ref of the field for files.")),
        };
        let names = self.store_uploads(files).await?;
        if let Err(error) = self.set_files(tab, &element, &names).await {
            return Err(self.element_error(tab, &element.reference, error).await);
        }
        self.settle(tab).await;
        Ok(self.arrived(tab, &format!("Gave {} to {}", numbers::count(files.len(), "file"), element.reference)))
    }

    /// Writes the files where the browser sees them, and returns their paths there.
    async fn store_uploads(&self, files: &[PageFile]) -> Result<Vec<String>, ToolError> {
        static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        // Each call has a folder, because a page may read a file later.
        let own = format!("{UPLOADS}/{}", COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let folder = self.child.folder().join(&own);
        let failed = |error: std::io::Error| ToolError::execution(format!("The files could not be handed over: {error}."));
        tokio::fs::create_dir_all(&folder).await.map_err(failed)?;
        let mut paths = Vec::new();
        for file in files {
            let name = plain_name(&file.name);
            tokio::fs::write(folder.join(&name), &file.content).await.map_err(failed)?;
            paths.push(format!("{}/{own}/{name}", IsolatedCommand::FOLDER));
        }
        Ok(paths)
    }

    async fn set_files(&self, tab: &TabHandle, element: &ElementHandle, paths: &[String]) -> Result<(), PageError> {
        let is_field = self.element_script(tab, element, &format!("isFileField({})", element.number)).await?;
        let session = self.context(tab, &element.frame).await?.session;
        if is_field == Value::Bool(true) {
            let object = self.object(tab, element).await?;
            self.devtools.call(Some(&session), "DOM.setFileInputFiles", json!({"objectId": object, "files": paths})).await?;
            return Ok(());
        }
        if let Some(tab) = self.state.lock().tab_mut(&tab.target) {
            tab.file_field = None;
        }
        let point = self.point(tab, element, true, PATIENCE).await?;
        self.click_at(tab, point, PLAIN_CLICK).await?;
        let asked = self.state.until(|state| state.tab_mut(&tab.target).and_then(|tab| tab.file_field.take()));
        let Ok(field) = tokio::time::timeout(PATIENCE, asked).await else {
            return Err(PageError::Field("not a field for files, and a click on it asks for none".to_owned()));
        };
        self.devtools.call(Some(&session), "DOM.setFileInputFiles", json!({"backendNodeId": field, "files": paths})).await?;
        Ok(())
    }

    /// Clicks an element, and takes the file that this brings.
    pub(crate) async fn download(&self, tab: &TabHandle, reference: &str) -> Result<BrowserReply, ToolError> {
        let element = self.element(tab, reference)?;
        self.state.lock().downloads.clear();
        let path = format!("{}/{DOWNLOADS}", IsolatedCommand::FOLDER);
        let folder = self.child.folder().join(DOWNLOADS);
        let failed = |error: std::io::Error| ToolError::execution(format!("There is no folder for the file: {error}."));
        tokio::fs::create_dir_all(&folder).await.map_err(failed)?;
        let allow = json!({"behavior": "allowAndName", "downloadPath": path, "eventsEnabled": true});
        self.devtools.call(None, "Browser.setDownloadBehavior", allow).await.map_err(PageError::from)?;
        let allowed = DownloadsAllowed(self);
        let clicked = async {
            let point = self.point(tab, &element, true, PATIENCE).await?;
            self.click_at(tab, point, PLAIN_CLICK).await
        };
        if let Err(error) = clicked.await {
            return Err(self.element_error(tab, reference, error).await);
        }
        let ended = self.state.until(|state| {
            let ended = state.downloads.iter().find(|(_, download)| download.state != DownloadState::Running)?;
            Some((ended.0.clone(), ended.1.clone()))
        });
        let (id, download) = ended.await;
        drop(allowed);
        let file = folder.join(plain_name(&id));
        let content = read_download(&file, &download).await;
        tokio::fs::remove_file(&file).await.ok();
        let content = content?;
        let (name, size) = (plain_name(&download.name), numbers::size(content.len() as u64));
        Ok(BrowserReply {
            text: format!("Downloaded {size} ('{}').", display::shorten(&name, 100)),
            details: json!({"tab": tab.id, "name": name, "url": download.url, "bytes": content.len()}),
            file: Some(PageFile { name, content }),
            ..BrowserReply::default()
        })
    }
}

/// While it lives, pages may send files.
struct DownloadsAllowed<'a>(&'a Browser);

impl Drop for DownloadsAllowed<'_> {
    fn drop(&mut self) {
        drop(self.0.devtools.send(None, "Browser.setDownloadBehavior", json!({"behavior": "deny", "eventsEnabled": true})));
        for (id, _) in self.0.state.lock().downloads.iter().filter(|(_, download)| download.state == DownloadState::Running) {
            drop(self.0.devtools.send(None, "Browser.cancelDownload", json!({"guid": id})));
        }
    }
}

async fn read_download(file: &Path, download: &Download) -> Result<Vec<u8>, ToolError> {
    if download.received > LARGEST_FILE {
        let most = numbers::size(LARGEST_FILE);
        return Err(ToolError::new(
            ErrorKind::FileTooLarge,
            format!("The file has more than {most}, so it was not downloaded. Ask the user to download it."),
        ));
    }
    if download.state == DownloadState::Cancelled {
        return Err(ToolError::new(ErrorKind::NetworkError, "The download ended before the file was complete. Try it again."));
    }
    let failed = |error: std::io::Error| ToolError::execution(format!("The downloaded file cannot be read: {error}."));
    let length = tokio::fs::symlink_metadata(file).await.map_err(failed)?;
    if !length.is_file() || length.len() > LARGEST_FILE {
        return Err(ToolError::execution("The downloaded file is not one that can be read."));
    }
    tokio::fs::read(file).await.map_err(failed)
}

/// A name that is one, and not a path.
fn plain_name(name: &str) -> String {
    let plain: String = name.chars().map(|ch| if ch == '/' || ch == '\\' || ch.is_control() { '_' } else { ch }).collect();
    let plain = haft_text::truncate::first_bytes(plain.trim(), 200);
    if plain.is_empty() || plain.starts_with('.') { format!("file{plain}") } else { plain.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_pages_are_no_paths() {
        for (name, expected) in [
            ("a.txt", "a.txt"),
            ("../../etc/passwd", "file.._.._etc_passwd"),
            ("..", "file.."),
            ("", "file"),
            ("a\0b\nc", "a_b_c"),
            ("C:\\x", "C:_x"),
        ] {
            assert_eq!(plain_name(name), expected);
        }
    }
}
