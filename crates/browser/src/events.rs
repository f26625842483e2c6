//! The events of a browser, and what each changes.

use std::sync::Arc;

use haft_text::truncate;
use serde_json::{Value, json};

use crate::devtools::{DevTools, DevToolsEvent, EventHandler};
use crate::page::{SCRIPT, WORLD};
use crate::screen;
use crate::state::{
    BrowserState, ConsoleEntry, DialogAnswer, Download, DownloadState, MOST_TABS, PageLoad, RequestEntry, ScriptContext, SharedState, Tab,
};

/// Questions of one page during one action; then it asks in a loop, and its tab is closed.
const MOST_DIALOGS: u32 = 10;
/// Characters of a log entry.
const LONGEST_ENTRY: usize = 2000;
/// The largest file that a page may send.
pub(crate) const LARGEST_FILE: u64 = 64 << 20;

const WANTED: &[&str] = &[
    "Target.attachedToTarget",
    "Target.detachedFromTarget",
    "Target.targetInfoChanged",
    "Target.targetDestroyed",
    "Target.targetCrashed",
    "Page.frameAttached",
    "Page.frameDetached",
    "Page.frameNavigated",
    "Page.navigatedWithinDocument",
    "Page.frameRequestedNavigation",
    "Page.frameStartedNavigating",
    "Page.frameStoppedLoading",
    "Page.lifecycleEvent",
    "Page.javascriptDialogOpening",
    "Page.screencastFrame",
    "Page.fileChooserOpened",
    "Runtime.executionContextCreated",
    "Runtime.executionContextDestroyed",
    "Runtime.executionContextsCleared",
    "Runtime.consoleAPICalled",
    "Runtime.exceptionThrown",
    "Log.entryAdded",
    "Network.requestWillBeSent",
    "Network.responseReceived",
    "Network.loadingFinished",
    "Network.loadingFailed",
    "Browser.downloadWillBegin",
    "Browser.downloadProgress",
    "Input.dragIntercepted",
];

/// Changes the state of a browser by its events.
#[derive(Debug)]
pub(crate) struct StateEvents(pub(crate) Arc<SharedState>);

impl EventHandler for StateEvents {
    fn wants(&self, method: &str) -> bool {
        WANTED.contains(&method)
    }

    fn event(&self, devtools: &DevTools, event: DevToolsEvent<'_>) {
        {
            let mut state = self.0.lock();
            let DevToolsEvent { method, session, params } = event;
            match (method.split_once('.'), session) {
                (Some(("Target", name)), session) => target_event(&mut state, devtools, name, session, &params),
                (Some(("Browser", name)), _) => download_event(&mut state, devtools, name, &params),
                (Some((domain, name)), Some(session)) => page_event(&mut state, devtools, (domain, name), session, &params),
                _ => {}
            }
        }
        self.0.signal();
    }

    fn closed(&self) {
        self.0.lock().is_closed = true;
        self.0.signal();
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// A text with the ids of the browser's own words, bounded.
fn bounded(text: &str) -> String {
    truncate::ellipsize(text, LONGEST_ENTRY).into_owned()
}

fn target_event(state: &mut BrowserState, devtools: &DevTools, name: &str, session: Option<&str>, params: &Value) {
    let info = &params["targetInfo"];
    match name {
        "attachedToTarget" => attach(state, devtools, session, text(params, "sessionId"), info),
        "detachedFromTarget" => detach(state, text(params, "sessionId")),
        "targetInfoChanged" => {
            if let Some(tab) = state.tab_mut(text(info, "targetId")) {
                (tab.url, tab.title) = (bounded(text(info, "url")), bounded(text(info, "title")));
            }
        }
        "targetDestroyed" => state.remove_tab(text(params, "targetId")),
        "targetCrashed" => crash(state, text(params, "targetId")),
        _ => {}
    }
}

fn crash(state: &mut BrowserState, target: &str) {
    if let Some(tab) = state.tab_mut(target).filter(|tab| !tab.is_crashed) {
        tab.is_crashed = true;
        let note = format!("The page in tab {} crashed.", tab.id);
        state.note(note);
    }
}

/// A new tab, frame or worker, which waits until it is let go.
fn attach(state: &mut BrowserState, devtools: &DevTools, parent: Option<&str>, session: &str, info: &Value) {
    let (target, kind) = (text(info, "targetId"), text(info, "type"));
    match kind {
        "page" if state.tabs.len() >= MOST_TABS => {
            state.note(format!("A page opened more than {MOST_TABS} tabs; those beyond were closed."));
            devtools.send(None, "Target.closeTarget", json!({"targetId": target}));
        }
        "page" => {
            state.opened += 1;
            let id = format!("t{}", state.opened);
            if !text(info, "openerId").is_empty() {
                state.note(format!("A page opened the tab {id}."));
            }
            let mut tab = Tab { target: target.to_owned(), id, session: session.to_owned(), next_element: 1, ..Tab::default() };
            (tab.url, tab.title) = (bounded(text(info, "url")), bounded(text(info, "title")));
            tab.frame(target).session = Some(session.to_owned());
            state.tabs.push(tab);
            // A tab that the user opens is one that they want to see.
            if state.user.is_taken() {
                state.current = Some(target.to_owned());
            }
            enable(devtools, session, true);
        }
        "iframe" => {
            if let Some(tab) = parent.and_then(|parent| state.tab_of_session(parent)) {
                let frame = tab.frame(target);
                (frame.session, frame.context) = (Some(session.to_owned()), None);
            }
            enable(devtools, session, false);
        }
        _ => {}
    }
    devtools.send(Some(session), "Runtime.runIfWaitingForDebugger", json!({}));
}

/// What is known of a page before it runs.
fn enable(devtools: &DevTools, session: &str, is_page: bool) {
    let send = |method: &str, params: Value| drop(devtools.send(Some(session), method, params));
    send("Page.enable", json!({}));
    send("Page.setLifecycleEventsEnabled", json!({"enabled": true}));
    send("Page.addScriptToEvaluateOnNewDocument", json!({"source": SCRIPT, "worldName": WORLD}));
    send("Runtime.enable", json!({}));
    send("Network.enable", json!({"maxTotalBufferSize": 0, "maxResourceBufferSize": 0, "maxPostDataSize": 0}));
    send("Target.setAutoAttach", json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true}));
    if is_page {
        send("Log.enable", json!({}));
        send("Emulation.setFocusEmulationEnabled", json!({"enabled": true}));
        send("Page.setInterceptFileChooserDialog", json!({"enabled": true}));
    }
}

fn detach(state: &mut BrowserState, session: &str) {
    if let Some(target) = state.tabs.iter().find(|tab| tab.session == session).map(|tab| tab.target.clone()) {
        state.remove_tab(&target);
    } else if let Some(tab) = state.tab_of_session(session) {
        // The frame may be shown by its parent's process from now on.
        tab.frames.values_mut().filter(|frame| frame.session.as_deref() == Some(session)).for_each(|frame| {
            (frame.session, frame.context) = (None, None);
        });
    }
}

fn page_event(state: &mut BrowserState, devtools: &DevTools, event: (&str, &str), session: &str, params: &Value) {
    if event == ("Page", "javascriptDialogOpening") {
        return dialog(state, devtools, session, params);
    }
    if event == ("Page", "screencastFrame") {
        return screen::picture_came(state, devtools, session, params);
    }
    let Some(tab) = state.tab_of_session(session) else { return };
    match event {
        ("Page", name) => frame_event(tab, name, params),
        ("Runtime", name) => runtime_event(tab, name, session, params),
        ("Network", name) => network_event(tab, name, params),
        ("Log", "entryAdded") => {
            let entry = &params["entry"];
            tab.print(ConsoleEntry { level: text(entry, "level").to_owned(), text: bounded(text(entry, "text")) });
        }
        ("Input", "dragIntercepted") => tab.drag = Some(params["data"].clone()),
        _ => {}
    }
}

fn frame_event(tab: &mut Tab, name: &str, params: &Value) {
    let id = text(params, "frameId");
    let is_main = id == tab.target;
    match name {
        "frameAttached" => tab.frame(id).parent = Some(text(params, "parentFrameId").to_owned()),
        "frameDetached" if text(params, "reason") != "swap" => {
            tab.frames.remove(id);
        }
        "frameNavigated" => navigated(tab, &params["frame"]),
        "navigatedWithinDocument" if is_main => {
            tab.url = bounded(text(params, "url"));
            tab.load.is_leaving = false;
        }
        "frameRequestedNavigation" if is_main && text(params, "disposition") == "currentTab" => tab.load.is_leaving = true,
        "frameStartedNavigating" if is_main && text(params, "navigationType") != "sameDocument" => tab.load.is_leaving = true,
        // Also where a navigation led to no document: a download, an answer without content.
        "frameStoppedLoading" if is_main => tab.load.is_leaving = false,
        "lifecycleEvent" if is_main => lifecycle(tab, text(params, "loaderId"), text(params, "name")),
        "fileChooserOpened" => tab.file_field = params["backendNodeId"].as_i64(),
        _ => {}
    }
}

/// How far a document is loaded; it may be told of before the document itself is.
fn lifecycle(tab: &mut Tab, loader: &str, name: &str) {
    let load = if tab.load.loader == loader {
        &mut tab.load
    } else {
        if tab.early.loader != loader {
            tab.early = PageLoad { loader: loader.to_owned(), ..PageLoad::default() };
        }
        &mut tab.early
    };
    match name {
        "DOMContentLoaded" => load.has_content = true,
        "load" => (load.has_content, load.is_loaded) = (true, true),
        "networkIdle" => load.is_idle = true,
        _ => {}
    }
}

/// A frame has a new document.
fn navigated(tab: &mut Tab, frame: &Value) {
    let id = text(frame, "id");
    let parent = frame["parentId"].as_str().map(str::to_owned);
    if parent.is_none() && id == tab.target {
        tab.url = bounded(&format!("{}{}", text(frame, "url"), text(frame, "urlFragment")));
        let documents = tab.load.documents + 1;
        let loader = text(frame, "loaderId");
        let early = Some(std::mem::take(&mut tab.early)).filter(|early| early.loader == loader);
        tab.load = early.unwrap_or_else(|| PageLoad { loader: loader.to_owned(), ..PageLoad::default() });
        tab.load.documents = documents;
        tab.in_flight.clear();
        let main = tab.target.clone();
        // Those of the document before are gone, and some say so too late.
        tab.frames.retain(|known, _| *known == main);
    } else if let Some(parent) = parent {
        tab.frame(id).parent = Some(parent);
    }
}

fn runtime_event(tab: &mut Tab, name: &str, session: &str, params: &Value) {
    match name {
        "executionContextCreated" => {
            let context = &params["context"];
            if text(context, "name") == WORLD {
                let frame = tab.frame(text(&context["auxData"], "frameId"));
                let (id, unique) = (context["id"].as_i64().unwrap_or_default(), text(context, "uniqueId").to_owned());
                frame.context = Some(ScriptContext { session: session.to_owned(), id, unique });
            }
        }
        "executionContextDestroyed" => {
            let ended = text(params, "executionContextUniqueId");
            let is_ended = |context: &ScriptContext| context.unique == ended;
            tab.frames.values_mut().filter(|frame| frame.context.as_ref().is_some_and(is_ended)).for_each(|frame| frame.context = None);
        }
        "executionContextsCleared" => {
            let is_of = |context: &ScriptContext| context.session == session;
            tab.frames.values_mut().filter(|frame| frame.context.as_ref().is_some_and(is_of)).for_each(|frame| frame.context = None);
        }
        "consoleAPICalled" => {
            let words = params["args"].as_array().into_iter().flatten().take(20).map(printed).collect::<Vec<_>>().join(" ");
            tab.print(ConsoleEntry { level: text(params, "type").to_owned(), text: bounded(&words) });
        }
        "exceptionThrown" => {
            let details = &params["exceptionDetails"];
            let thrown = details["exception"]["description"].as_str().unwrap_or(text(details, "text"));
            tab.print(ConsoleEntry { level: "error".to_owned(), text: bounded(thrown) });
        }
        _ => {}
    }
}

/// A value as a console prints it.
fn printed(value: &Value) -> String {
    match &value["value"] {
        Value::Null => value["description"].as_str().or(value["unserializableValue"].as_str()).unwrap_or(text(value, "type")).to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn network_event(tab: &mut Tab, name: &str, params: &Value) {
    let id = text(params, "requestId").to_owned();
    match name {
        "requestWillBeSent" => {
            // A redirect has the id of the request that led to it.
            if let Some(status) = params["redirectResponse"]["status"].as_u64() {
                tab.answer_request(&id, status.to_string());
            }
            let request = &params["request"];
            let (method, url) = (text(request, "method").to_owned(), bounded(text(request, "url")));
            if !url.starts_with("data:") && !url.starts_with("blob:") {
                tab.request(RequestEntry { id, method, url, kind: text(params, "type").to_lowercase(), outcome: None });
            }
        }
        "responseReceived" => {
            let status = params["response"]["status"].as_u64().unwrap_or_default();
            tab.answer_request(&id, status.to_string());
        }
        "loadingFinished" => {
            tab.in_flight.remove(&id);
        }
        "loadingFailed" => {
            tab.in_flight.remove(&id);
            let why = match text(params, "blockedReason") {
                "" => text(params, "errorText"),
                reason => reason,
            };
            tab.answer_request(&id, bounded(why));
        }
        _ => {}
    }
}

/// A question of a page is answered at once, because nothing of the page runs before. What was not arranged is declined, but for
/// leaving the page.
fn dialog(state: &mut BrowserState, devtools: &DevTools, session: &str, params: &Value) {
    let Some(tab) = state.tab_of_session(session) else { return };
    tab.dialogs += 1;
    let kind = text(params, "type").to_owned();
    let message = truncate::ellipsize(text(params, "message"), 300).into_owned();
    let is_simple = matches!(kind.as_str(), "alert" | "beforeunload");
    let armed = tab.armed.take();
    let answer = armed.clone().unwrap_or(DialogAnswer { accept: is_simple, text: None });
    let (id, target, count) = (tab.id.clone(), tab.target.clone(), tab.dialogs);
    if count > MOST_DIALOGS {
        state.note(format!("The page in tab {id} opened more than {MOST_DIALOGS} dialogs one after the other, so the tab was closed."));
        state.remove_tab(&target);
        devtools.send(None, "Target.closeTarget", json!({"targetId": target}));
        return;
    }
    let mut reply = json!({"accept": answer.accept});
    if let Some(text) = answer.text.filter(|_| kind == "prompt") {
        reply["promptText"] = text.into();
    }
    devtools.send(Some(session), "Page.handleJavaScriptDialog", reply);
    let outcome = if answer.accept { "accepted" } else { "dismissed" };
    let advice =
        if armed.is_some() || is_simple { "" } else { " To accept it, use action=dialog with accept=true before the step that opens it." };
    if kind != "beforeunload" || armed.is_some() {
        state.note(format!("The page asked ({kind}): {message:?}; it was {outcome}.{advice}"));
    }
}

fn download_event(state: &mut BrowserState, devtools: &DevTools, name: &str, params: &Value) {
    let guid = text(params, "guid");
    match name {
        "downloadWillBegin" => {
            let (name, url) = (bounded(text(params, "suggestedFilename")), bounded(text(params, "url")));
            if state.downloads.len() < MOST_TABS {
                state.downloads.insert(guid.to_owned(), Download { name, url, ..Download::default() });
            } else {
                devtools.send(None, "Browser.cancelDownload", json!({"guid": guid}));
            }
        }
        "downloadProgress" => {
            let Some(download) = state.downloads.get_mut(guid) else { return };
            let bytes = |key: &str| params[key].as_u64().or_else(|| params[key].as_f64().map(whole)).unwrap_or_default();
            download.received = download.received.max(bytes("receivedBytes"));
            download.state = match text(params, "state") {
                "completed" => DownloadState::Completed,
                "canceled" => DownloadState::Cancelled,
                _ => DownloadState::Running,
            };
            if download.state == DownloadState::Running && download.received.max(bytes("totalBytes")) > LARGEST_FILE {
                download.received = download.received.max(bytes("totalBytes"));
                devtools.send(None, "Browser.cancelDownload", json!({"guid": guid}));
            }
        }
        _ => {}
    }
}

/// A number of bytes, which the browser writes as a fraction.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a length of a file is whole, and not below zero")]
fn whole(number: f64) -> u64 {
    number.max(0.0) as u64
}
