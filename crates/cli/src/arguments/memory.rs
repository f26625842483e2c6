//! The command line of `haft memory`.

use clap::Subcommand;

use crate::help;

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// Add a note; `haft undo` takes it back
    #[command(after_long_help = help::MEMORY_EXAMPLES)]
    Add {
        /// The note
        text: String,
        /// The memory file to add it to
        #[arg(long, value_name = "PATH", default_value = "MEMORY.md")]
        file: String,
    },
    /// Search memory as the model does
    #[command(after_long_help = help::MEMORY_EXAMPLES)]
    Search {
        /// Words, a question, an identifier or a date
        query: String,
        /// At most this many results
        #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u64).range(1..=50))]
        limit: u64,
    },
    /// List the memory files
    #[command(after_long_help = help::MEMORY_EXAMPLES)]
    List,
    /// Remove lines of a memory file, or all of it; `haft undo` takes it back
    #[command(after_long_help = help::MEMORY_EXAMPLES)]
    Forget {
        /// What to remove: PATH#L10, PATH#L10-L24 or PATH
        #[arg(value_name = "PATH#L")]
        citation: String,
    },
    /// Check memory: repeats, contradictions, dead links, size; exit code 1 if there are some
    #[command(after_long_help = help::MEMORY_EXAMPLES)]
    Check,
    /// Show who wrote lines of a memory file, and with which call
    #[command(after_long_help = help::MEMORY_EXAMPLES)]
    Why {
        /// The lines: PATH#L10, PATH#L10-L24, or PATH for all
        #[arg(value_name = "PATH#L")]
        citation: String,
    },
}
