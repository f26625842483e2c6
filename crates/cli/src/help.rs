//! The longer texts of `--help`.

pub(crate) const ABOUT: &str = "The tool system for AI agents";

pub(crate) const LONG_ABOUT: &str = "\
The tool system for AI agents: everything between \"the model asked for a tool\" and \"the model has its result\".

Every call goes through the same stages: its arguments are checked, its effects are planned, the plan is judged, and \
only then it runs. What it did is kept, and changes to files can be taken back.";

pub(crate) const AFTER: &str = "\
Examples:
  haft run \"What time is it in Tokyo, and what does README.md say?\"
  haft call read_file --path README.md
  haft explain write_file '{\"path\":\"../outside.txt\",\"content\":\"x\"}'

Exit codes:
  0    it worked
  1    the tool failed, or what was asked for is not there
  2    wrong usage or configuration
  130  interrupted (Ctrl-C); 129 and 143 after SIGHUP and SIGTERM

Environment:
  HAFT_HOME        where the history, spills and old file contents are kept [$XDG_DATA_HOME/haft]
  HAFT_CONFIG      a configuration file in place of your own, as --config
  HAFT_ACCESS, HAFT_TOOLS_DENY, …
                   any key of the configuration: dots become '_', letters upper case
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY
                   the model that `haft run` uses, when none is named
  HAFT_LOCAL_MODELS
                   where to look for model servers on this machine; empty means nowhere
  XDG_CONFIG_HOME  the folder of haft/config.toml [~/.config]
  XDG_DATA_HOME    the folder of the data [~/.local/share]
  HAFT_PLAIN=1     lines and words only, for screen readers; as TERM=dumb
  NO_COLOR=1       no colours
  COLUMNS          the width to write for

Data goes to standard output, everything else to standard error.";

pub(crate) const RUN: &str = "\
Ask a model. It gets the tools that your policy offers, its calls go through every stage, and it goes on until it is done. \
What it says goes to standard output, one line for each call to standard error; --json writes one event a line.

The model is the one that --model names, or the agent's or yours in the configuration, or one whose key is set \
(ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY), or a server on this machine (Ollama, LM Studio, llama.cpp), or else the \
demo model: a few rules that need no network. Ctrl-C cancels the turn; a second one ends haft at once.";

pub(crate) const RUN_EXAMPLES: &str = "\
Examples:
  haft run \"What time is it in Tokyo, and what does README.md say?\"
  haft run --model anthropic/claude-sonnet-4-5 \"Fix the failing test\"
  haft run --session last \"and now in London?\"
  git diff | haft run -";

pub(crate) const CALL: &str = "\
Call one tool, without a model.

The arguments are a JSON object, or - to read one from standard input, or flags named after the tool's parameters, or \
both: a flag wins over the same key of the object. `haft call TOOL --help` lists the parameters of a tool.

The call goes through every stage that a model's call goes through: what the policy denies is denied here too. The \
result is written to standard output. Ctrl-C cancels the call; a second one ends haft at once.";

pub(crate) const CALL_USAGE: &str = "haft call [OPTIONS] <TOOL> [JSON] [--PARAMETER VALUE]...";

pub(crate) const CALL_EXAMPLES: &str = "\
Examples:
  haft call read_file --path README.md --limit 20
  haft call get_current_time '{\"timezone\":\"Asia/Tokyo\"}' --json
  echo '{\"path\":\"notes.txt\",\"content\":\"hello\"}' | haft call write_file -";

pub(crate) const TOOLS: &str = "\
List the tools: [x] is offered to the agent, [ ] is not, with the reason. A tool marked * needs a permission of the \
platform. With a name, show that tool in full.

--json writes the definitions of the tools that are offered.";

pub(crate) const TOOLS_EXAMPLES: &str = "\
Examples:
  haft tools
  haft tools read_file
  haft tools --json | jq -r '.[].name'";

pub(crate) const EXPLAIN: &str = "\
Say why a tool, or a call when arguments are given, is allowed, asked about, or denied: what it would do, every step \
that had a say with its file and line, and what to change. Nothing is done.

The arguments are given as for `haft call`. --all lists every tool. The verdict can be asked for any agent, provider, \
channel, sender and depth of sub-agents. The exit code is 0 whatever the verdict.";

pub(crate) const EXPLAIN_USAGE: &str = "haft explain [OPTIONS] <TOOL> [JSON] [--PARAMETER VALUE]...";

pub(crate) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  haft explain http_request
  haft explain --all --agent coder
  haft explain notify --provider gemini --depth 1
  haft explain write_file '{\"path\":\"../outside.txt\",\"content\":\"x\"}'";

pub(crate) const POLICY: &str = "\
Try a policy before you rely on it.

`test` runs examples that you keep beside your policy: a TOML file with one [[case]] for each call, and the verdict that \
it should get (allow, ask or deny). `simulate` judges the calls in the history of this workspace again and prints those \
that would get another verdict now: give the changed policy with --config FILE.";

pub(crate) const POLICY_EXAMPLES: &str = "\
Examples:
  haft policy test policy.test.toml
  haft policy simulate --config stricter.toml

A case:
  [[case]]
  tool = \"write_file\"
  arguments = { path = \"docs/a.md\", content = \"x\" }
  agent = \"coder\"          # also: provider, channel, sender, depth, sandboxed, guest
  expect = \"deny\"
  step = \"rules\"           # optional: the step that must decide it";

pub(crate) const TRUST: &str = "\
A project's file can always make things stricter. What it would start (hooks, and later MCP servers and providers) waits \
until you trust it. Trust is bound to the file as it is now: when it changes, it is asked for again. A trusted file still \
cannot widen what may be done.";

pub(crate) const TRUST_EXAMPLES: &str = "\
Examples:
  haft trust --show
  haft trust
  haft trust --revoke";

pub(crate) const SESSIONS: &str = "\
Conversations with models. Everything that is said is kept, entry by entry, before anything else happens; a session that was \
broken off is repaired when it goes on: `haft run --session ID`.";

pub(crate) const SESSIONS_EXAMPLES: &str = "\
Examples:
  haft sessions list
  haft sessions show last
  haft sessions export 3f9c21ab > session.json";

pub(crate) const HISTORY: &str = "\
List past calls, newest first, or show one in full: its arguments, effects, decision, outcome, and how to undo it.";

pub(crate) const HISTORY_EXAMPLES: &str = "\
Examples:
  haft history --tool write_file --limit 5
  haft history 3f9c21ab";

pub(crate) const UNDO: &str = "\
Put every file that a call changed back as it was before, or change nothing at all. A file that was changed after the \
call is left alone unless --force is given.";

pub(crate) const UNDO_EXAMPLES: &str = "\
Examples:
  haft undo last
  haft undo 3f9c21ab --force";

pub(crate) const CONFIG: &str = "\
Check and show the configuration. Layers, weakest first: built-in, your own file, the project's file \
(.haft/config.toml), HAFT_… variables, flags. A project's file can only make things stricter.";

pub(crate) const CONFIG_EXAMPLES: &str = "\
Examples:
  haft config check
  haft config show --json";

pub(crate) const DOCTOR: &str = "\
See what works here: one line for each thing that Haft needs, and for each that does not work what to do. Nothing is \
sent anywhere. The exit code is 1 if anything is broken.";

pub(crate) const DOCTOR_EXAMPLES: &str = "\
Examples:
  haft doctor
  haft doctor --json";

pub(crate) const COMPLETIONS: &str = "Write a completion script for a shell to standard output.";

pub(crate) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  haft completions bash > ~/.local/share/bash-completion/completions/haft
  haft completions fish > ~/.config/fish/completions/haft.fish";
