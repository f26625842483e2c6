//! Runs a component: compiled once, a fresh instance for each call, and the limits of a call.

use std::sync::OnceLock;

use haft_contract::{ToolContext, ToolError};
use tokio::runtime::Handle;
use tokio::sync::watch;
use wasmtime::component::{Component, Linker};
use wasmtime::{Config, Engine, Store, StoreLimits, StoreLimitsBuilder, Trap, UpdateDeadline};

use super::host;
use crate::tool::PluginProgram;

/// Memory of an instance.
const MEMORY: usize = 256 << 20;
/// Modules, memories and tables within a component: a language's runtime is some dozens.
const PARTS: usize = 200;
const TABLE_ENTRIES: usize = 1 << 20;
const STACK: usize = 1 << 20;
/// The longest result.
const MOST_RESULT: usize = 8 << 20;
/// The interface that a component may import.
pub(super) const INTERFACE: &str = "haft:plugin/host@0.1.0";

/// The component of a plugin, compiled when it is first called.
#[derive(Default)]
pub(crate) struct ComponentCode {
    compiled: OnceLock<Result<CompiledComponent, String>>,
}

haft_contract::opaque_debug!(ComponentCode);

struct CompiledComponent {
    engine: Engine,
    component: Component,
    linker: Linker<ComponentState>,
}

/// What an instance has of its call.
pub(super) struct ComponentState {
    pub(super) cx: ToolContext,
    pub(super) runtime: Handle,
    pub(super) stopped: watch::Receiver<bool>,
    limits: StoreLimits,
}

/// A call as the component gets it.
pub(super) struct ComponentCall {
    pub(super) tool: String,
    pub(super) arguments: String,
    pub(super) context: String,
    /// The work that it may take.
    pub(super) fuel: u64,
}

/// Why there is no result.
#[derive(Debug)]
pub(super) enum ComponentFault {
    /// The component answered with an error.
    Said(String),
    /// It broke a limit, or down.
    Broke(String),
}

impl ComponentCode {
    /// Compiles the component of the copy that the user has looked at; later calls find it done.
    pub(super) fn compile(&self, program: &PluginProgram) -> Result<(), ToolError> {
        let compiled = self.compiled.get_or_init(|| {
            let bytes = program.component().map_err(|error| error.message().to_owned())?;
            compile(&bytes).map_err(|error| format!("{error:#}"))
        });
        compiled.as_ref().map(drop).map_err(|why| {
            let advice = "A component has the world `haft:plugin/plugin` of docs/PLUGINS.md, and imports nothing else";
            ToolError::execution(format!("The component of the plugin '{}' cannot be used: {why}. {advice}.", program.name()))
        })
    }

    /// Makes every running instance look whether its call was stopped, and stops this one.
    pub(super) fn stop(&self, stop: &watch::Sender<bool>) {
        stop.send_replace(true);
        if let Some(Ok(compiled)) = self.compiled.get() {
            compiled.engine.increment_epoch();
        }
    }

    /// Answers a call; blocks its thread.
    pub(super) fn run(
        &self,
        call: &ComponentCall,
        cx: ToolContext,
        stopped: watch::Receiver<bool>,
        runtime: Handle,
    ) -> Result<(String, u64), ComponentFault> {
        let Some(Ok(compiled)) = self.compiled.get() else { return Err(ComponentFault::Broke("it was not compiled".into())) };
        compiled.run(call, cx, stopped, runtime)
    }
}

fn compile(bytes: &[u8]) -> wasmtime::Result<CompiledComponent> {
    let mut config = Config::new();
    config.consume_fuel(true).epoch_interruption(true).max_wasm_stack(STACK);
    let engine = Engine::new(&config)?;
    // Only the binary form: the text form is a language of its own to parse.
    let component = Component::from_binary(&engine, bytes)?;
    let mut linker = Linker::new(&engine);
    host::add(&mut linker)?;
    // What it imports is known before its first call.
    linker.instantiate_pre(&component)?;
    Ok(CompiledComponent { engine, component, linker })
}

impl CompiledComponent {
    fn run(
        &self,
        call: &ComponentCall,
        cx: ToolContext,
        stopped: watch::Receiver<bool>,
        runtime: Handle,
    ) -> Result<(String, u64), ComponentFault> {
        let limits = StoreLimitsBuilder::new().memory_size(MEMORY).table_elements(TABLE_ENTRIES);
        let limits = limits.instances(PARTS).memories(PARTS).tables(PARTS).build();
        let watched = stopped.clone();
        let mut store = Store::new(&self.engine, ComponentState { cx, runtime, stopped, limits });
        store.limiter(|state| &mut state.limits);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| {
            if *watched.borrow() { Err(wasmtime::Error::msg("its call was stopped")) } else { Ok(UpdateDeadline::Continue(1)) }
        });
        let answered = store.set_fuel(call.fuel).and_then(|()| self.call(&mut store, call));
        let used = call.fuel.saturating_sub(store.get_fuel().unwrap_or_default());
        match answered {
            Ok(Ok(text)) if text.len() > MOST_RESULT => {
                let most = haft_text::numbers::size(MOST_RESULT as u64);
                Err(ComponentFault::Broke(format!("its result has {} bytes, and {most} are the most", text.len())))
            }
            Ok(Ok(text)) => Ok((text, used)),
            Ok(Err(message)) => Err(ComponentFault::Said(haft_text::display::shorten(&message, 8_000).into_owned())),
            Err(error) => Err(ComponentFault::Broke(reason(&error, call.fuel))),
        }
    }

    fn call(&self, store: &mut Store<ComponentState>, call: &ComponentCall) -> wasmtime::Result<Result<String, String>> {
        let instance = self.linker.instantiate(&mut *store, &self.component)?;
        let answer = instance.get_typed_func::<(&str, &str, &str), (Result<String, String>,)>(&mut *store, "call")?;
        Ok(answer.call(store, (&call.tool, &call.arguments, &call.context))?.0)
    }
}

/// Why an instance ended, in a line.
fn reason(error: &wasmtime::Error, fuel: u64) -> String {
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => format!("it used more than {fuel} units of fuel"),
        Some(Trap::StackOverflow) => "its calls went too deep".to_owned(),
        Some(trap) => format!("it broke down ({trap})"),
        None => haft_text::display::shorten(&format!("{error:#}"), 500).into_owned(),
    }
}
