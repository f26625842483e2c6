//! What fills the context window, part by part.

use crate::Runner;
use crate::context_budget::{BYTES_PER_TOKEN, TokenCount};

/// A part of the system prompt, by size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemPart {
    /// Its name.
    pub name: &'static str,
    /// Its bytes.
    pub bytes: usize,
}

/// A part of the context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextPart {
    /// `system`, `instructions`, `skills`, `tools`, `messages` or `free`.
    pub name: &'static str,
    /// About how many tokens it has.
    pub tokens: usize,
}

impl Runner {
    /// What fills the window now, and what is free.
    pub fn context_parts(&self) -> Vec<ContextPart> {
        let named: usize = self.system_parts.iter().map(|part| part.bytes).sum();
        let rest = SystemPart { name: "system", bytes: self.system.len().saturating_sub(named) };
        let of_system =
            |name: &str| self.system_parts.iter().chain([&rest]).filter(|part| part.name == name).map(|part| part.bytes).sum::<usize>();
        let tools: usize = self.tools().bytes;
        let bytes = [
            ("system", of_system("system")),
            ("instructions", of_system("instructions")),
            ("skills", of_system("skills")),
            ("tools", tools),
            ("messages", TokenCount::default().update(&self.messages) * BYTES_PER_TOKEN),
        ];
        let mut parts: Vec<ContextPart> =
            bytes.into_iter().map(|(name, bytes)| ContextPart { name, tokens: self.scale.apply(bytes / BYTES_PER_TOKEN) }).collect();
        let window = usize::try_from(self.provider.model().context_window).unwrap_or(usize::MAX);
        let used: usize = parts.iter().map(|part| part.tokens).sum();
        parts.push(ContextPart { name: "free", tokens: window.saturating_sub(used) });
        parts
    }
}
