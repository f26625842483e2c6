//! Closed shadow roots: the page hides them from scripts, and not from people.

use serde_json::json;

use crate::browser::Browser;
use crate::failure::PageError;
use crate::page::TabHandle;

impl Browser {
    /// Opens the closed roots of elements that a snapshot has noted to the page script; whether there were any.
    pub(crate) async fn open_roots(&self, tab: &TabHandle, frame: &str, hosts: usize) -> Result<bool, PageError> {
        let mut is_any = false;
        for at in 0..hosts {
            let host = self.remote_object(tab, frame, &format!("haft.hostAt({at})")).await?;
            let context = self.context(tab, frame).await?;
            let session = Some(context.session.as_str());
            let described = self.devtools.call(session, "DOM.describeNode", json!({"objectId": host, "depth": 0})).await?;
            let Some(root) = described["node"]["shadowRoots"].as_array().and_then(|roots| {
                roots.iter().find(|root| root["shadowRootType"] == "closed").and_then(|root| root["backendNodeId"].as_i64())
            }) else {
                continue;
            };
            let resolve = json!({"backendNodeId": root, "executionContextId": context.id});
            let resolved = self.devtools.call(session, "DOM.resolveNode", resolve).await?;
            let open = json!({
                "objectId": host, "functionDeclaration": "function (root) { return haft.openRoot(this, root); }",
                "arguments": [{"objectId": resolved["object"]["objectId"]}], "returnByValue": true,
            });
            self.devtools.call(session, "Runtime.callFunctionOn", open).await?;
            is_any = true;
        }
        Ok(is_any)
    }
}
