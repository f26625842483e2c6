//! Long texts of `--help`.

pub(crate) const ABOUT: &str = "The tool system for AI agents";

pub(crate) const LONG_ABOUT: &str = "\
The tool system for AI agents: everything between \"the model asked for a tool\" and \"the model has its result\".

Every call goes through the same stages: its arguments are checked, its effects are planned, the policy decides on the plan, \
and only then it runs. Calls are recorded, and changes to files can be undone.";

pub(crate) const USAGE: &str = "haft [OPTIONS] <COMMAND>\n       haft [OPTIONS] \"PROMPT\"     as `haft run`; also haft -p PROMPT\n       haft [OPTIONS]              as `haft chat`";

pub(crate) const AFTER: &str = "\
Examples:
  haft run \"What time is it in Tokyo, and what does README.md say?\"
  haft call read_file --path README.md
  haft explain write_file '{\"path\":\"../outside.txt\",\"content\":\"x\"}'

Exit codes:
  0    success
  1    the tool failed, or the named thing does not exist
  2    wrong usage or configuration
  130  interrupted (Ctrl-C); 129 and 143 after SIGHUP and SIGTERM

Environment:
  HAFT_HOME        folder of the history, spilled output and old file contents [$XDG_DATA_HOME/haft]
  HAFT_STORE       postgres://user@host/database: history and conversations there (docs/FLEET.md)
  HAFT_QUEUE       nats://host:4222: turns are run by workers (docs/FLEET.md)
  HAFT_BLOBS       s3://bucket/prefix?endpoint=…&region=…: old file contents and spilled output
  HAFT_CONFIG      a configuration file in place of your own, as --config
  HAFT_ACCESS, HAFT_TOOLS_DENY, …
                   any key of the configuration: dots become '_', in upper case
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY
                   the model that `haft run` uses, when none is named
  HAFT_LOCAL_MODELS
                   where to look for model servers on this machine; empty means nowhere
  XDG_CONFIG_HOME  the folder of haft/config.toml [~/.config]
  XDG_DATA_HOME    the folder of the data [~/.local/share]
  HAFT_PLAIN=1     plain text for screen readers; as --plain and TERM=dumb
  NO_COLOR=1       no colours
  COLUMNS          the width to write for

Data goes to standard output, everything else to standard error.";

pub(crate) const RUN: &str = "\
Ask a model. It gets the tools that your policy offers, its calls go through every stage, and the turn continues until it is done. \
Its answer goes to standard output, one line for each call to standard error, with -v also arguments and results; --json writes \
one event a line.

The model is the one that --model names, or the agent's or yours in the configuration, or one whose key is set \
(ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY), or a server on this machine (Ollama, LM Studio, llama.cpp), or else the \
demo model: a few rules that need no network. Ctrl-C cancels the turn; a second one ends haft at once.";

pub(crate) const RUN_EXAMPLES: &str = "\
Examples:
  haft run \"What time is it in Tokyo, and what does README.md say?\"
  haft run --model anthropic/claude-sonnet-4-5 \"Fix the failing test\"
  haft run --session last \"and now in London?\"
  haft run \"What is wrong in @src/main.rs?\" --file screenshot.png
  git diff | haft run -";

pub(crate) const CHAT: &str = "\
Chat with a model. It gets the tools that your policy offers; its answers go to standard output, everything else to standard \
error. Lines that begin with / are commands: /help lists them. @path names a file.

While the model works you can type: Enter sends it after the running calls, Alt-Enter after the turn, Up takes it back. Esc or \
Ctrl-C stops the turn. Ctrl-D leaves, and prints how to resume.

When standard input is not a terminal, each line of it is a turn; a line that ends with \\ continues in the next. The exit code is \
then 1 if a turn or a command failed.";

pub(crate) const CHAT_EXAMPLES: &str = "\
Examples:
  haft chat
  haft chat --model anthropic/claude-sonnet-4-5 \"Explain @src/main.rs\"
  haft chat -c
  haft chat --resume \"failing test\"
  printf 'what time is it?\\nand in Tokyo?\\n' | haft chat";

pub(crate) const CALL: &str = "\
Call one tool, without a model.

The arguments are a JSON object, or - to read one from standard input, or flags named after the tool's parameters, or \
both: a flag wins over the same key of the object. The value of a tool's one required parameter can stand alone, unless it is JSON itself. `haft call TOOL --help` lists the parameters of a tool.

The call goes through every stage that a model's call goes through: what the policy denies is denied here too. The \
result is written to standard output. Ctrl-C cancels the call; a second one ends haft at once.";

pub(crate) const CALL_USAGE: &str = "haft call [OPTIONS] <TOOL> [JSON] [--PARAMETER VALUE]...";

pub(crate) const CALL_EXAMPLES: &str = "\
Examples:
  haft call read_file README.md --limit 20
  haft call exec 'git status'
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
Explain why a tool, or a call when arguments are given, is allowed, needs approval, or is denied: its effects, each step \
with its file and line, and what to change. Nothing is run.

The arguments are given as for `haft call`. --all lists every tool. The caller can be any agent, provider, channel, \
sender and depth of sub-agents. The exit code is 0 whatever the verdict.

In place of a tool, the id of a past call, 8 or more characters of it, as `haft history` lists it: the decision of then, from \
the record, and the decision of now, on the same call with the configuration of today.";

pub(crate) const EXPLAIN_USAGE: &str = "haft explain [OPTIONS] <TOOL> [JSON] [--PARAMETER VALUE]...\n       haft explain [OPTIONS] <CALL-ID>\n       haft explain --session <ID>";

pub(crate) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  haft explain http_request
  haft explain --all --agent coder
  haft explain web_fetch '{\"url\":\"https://example.org/\"}'
  haft explain notify --provider gemini --depth 1
  haft explain --session last
  haft explain write_file '{\"path\":\"../outside.txt\",\"content\":\"x\"}'";

pub(crate) const MODELS: &str = "\
List the models that are configured or found: protocol, source of the key (never the key), context window, price of a million \
tokens, and whether it answers. The one marked * is the default of `haft run`.

Only servers on this machine are asked. --check asks every provider, once, for the list of its models.";

pub(crate) const MODELS_EXAMPLES: &str = "\
Examples:
  haft models
  haft models --check
  haft models --json | jq -r '.[] | select(.active).model'";

pub(crate) const POLICY: &str = "\
Try a policy before you rely on it.

`test` runs test cases: a TOML file with one [[case]] for each call, and the verdict that it should get (allow, ask or \
deny). `simulate` evaluates the recorded calls of this workspace and prints those \
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
A project's file can always make things stricter. What it would start (hooks and MCP servers) does not run \
until you trust it. Trust is bound to the content of the file: when it changes, trust it again. A trusted file still cannot \
widen access.

Skills, commands and types of agents of a project count once you have trusted its folder. They are text without rights, so they \
stay trusted when they change; --revoke ends that, too.

Plugins of a project (.haft/plugins) run, in the sandbox, once you have trusted it, and until one of their files changes.";

pub(crate) const TRUST_EXAMPLES: &str = "\
Examples:
  haft trust --show
  haft trust
  haft trust --revoke";

pub(crate) const CHANNELS: &str = "\
Channels carry messages to and from people and services: Telegram, Slack, Discord, Matrix, mail, webhooks, the page of `haft serve`, and \
notifications of this machine. Each is a table [channels.NAME] in your configuration; secrets are named by their environment variable. \
Models send with the tool message, and `haft serve` takes messages of senders that you let in. docs/CHANNELS.md has an example for each.";

pub(crate) const CHANNELS_EXAMPLES: &str = "\
Examples:
  haft channels list
  haft channels test slack
  haft channels pair telegram
  haft channels senders list
  haft channels sent --limit 5";

pub(crate) const CRON: &str = "\
List, add, show, run, pause, resume and remove scheduled jobs of this folder. Times are in your time zone unless --zone names another. \
Jobs run while `haft serve` runs here; a run that was missed is made up for by the policy of its job. Models schedule jobs with the \
tool 'cron', and the page of `haft serve` shows all of them.";

pub(crate) const CRON_EXAMPLES: &str = "\
Examples:
  haft cron add \"Summarise the new issues\" --cron \"0 9 * * 1-5\"
  haft cron add \"Check the backup\" --every 6h --delivery webhook --to https://hooks.example.org/backup
  haft cron add \"Stand up\" --at 20m
  haft cron list
  haft cron run \"Check the backup\"
  haft cron pause \"Check the backup\"
  haft cron runs";

pub(crate) const MEMORY: &str = "\
Add, search, list, remove and check notes that outlast a conversation: MEMORY.md and memory/*.md in the workspace, and the paths \
of memory.paths. They are plain Markdown: edit and commit them as you like. The head of MEMORY.md is in the system prompt, and \
models search the rest with memory_search. Every note knows who wrote it.";

pub(crate) const MEMORY_EXAMPLES: &str = "\
Examples:
  haft memory add \"Releases are on Fridays\"
  haft memory search \"release day\"
  haft memory why MEMORY.md#L3
  haft memory forget MEMORY.md#L3
  haft memory check";

pub(crate) const BROWSER: &str = "\
Models drive a browser of their own with the tool browser. `haft browser show` opens a live view of it on the page of `haft serve`: you \
see what the model sees, can take the browser over with mouse and keyboard (to sign in, for instance), and hand it back. Each step is \
recorded as a picture with the action beside it, never while you have the browser; `browser.record = false` turns that off. \
docs/BROWSER.md describes it.";

pub(crate) const BROWSER_EXAMPLES: &str = "\
Examples:
  haft browser show
  haft browser show 0197 --no-open
  haft browser recordings
  haft browser recordings last
  haft browser recordings last --json";

pub(crate) const NODE: &str = "\
A node is another machine that works for this one: its commands, files, camera and screen, under its own policy. Run `haft serve` and \
`haft node pair` here, and the command that it prints on the other machine; the code on the other screen completes it. Models use nodes \
with the tool nodes and with exec and host=node. docs/NODES.md describes it.";

pub(crate) const NODE_EXAMPLES: &str = "\
Examples:
  haft node pair
  haft node run wss://gateway.example:7318#9f3ac1…
  haft node approve 4821-7730
  haft node list
  haft node rename laptop studio
  haft node revoke studio";

pub(crate) const SKILLS: &str = "\
Skills are folders with a SKILL.md: instructions that a model loads when a task needs them. Yours are in the folder 'skills' beside \
your configuration, in ~/.agents/skills and in ~/.claude/skills; those of a project in .haft/skills, .agents/skills and \
.claude/skills, once you trust it (`haft trust`). Of two with one name yours counts. A skill grants no rights: its allowed-tools \
only take tools away until the end of the turn.";

pub(crate) const SKILLS_EXAMPLES: &str = "\
Examples:
  haft skills new release-notes --description \"Writes release notes. Use when asked for a changelog\"
  haft skills list
  haft skills show release-notes
  haft skills check";

pub(crate) const PLUGINS: &str = "\
Plugins are folders with a plugin.toml: tools of your own, each call one run of a command that reads JSON and writes JSON. The command \
runs in the sandbox, and every call is checked like one of a built-in tool. `haft plugins add` shows what a folder declares, asks, and \
copies it: what runs is the copy that you looked at. Plugins of a project are in .haft/plugins, and count once you trust it \
(`haft trust`). A tool that is optional is offered once you name it in tools.also_allow.";

pub(crate) const PLUGINS_EXAMPLES: &str = "\
Examples:
  haft plugins check ./word-count
  haft plugins add ./word-count
  haft plugins list
  haft plugins remove word-count";

pub(crate) const MCP: &str = "\
Offers the tools to a client of the Model Context Protocol: on standard input and output, or over HTTP with --http. Every call passes \
the policy, the hooks and the history, as `haft call` does. A client that can ask its user (elicitation) asks for approvals; for other \
clients, calls that need approval are denied, and the result says what to configure. Folders that the client names (roots) narrow the \
workspace.

`haft mcp install CLIENT` adds Haft to the configuration of a client.

The other commands are about servers whose tools Haft uses as if they were its own: behind the same policy, approvals and history. They \
are configured in [mcp.servers.NAME], started when they are first needed, and end with Haft. Their tools are called mcp__SERVER__TOOL. \
Tools that change after you have added a server wait until you have looked at them.

Environment:
  HAFT_MCP_TOKEN   the token of --http, 32 or more characters [a new one at each start]";

pub(crate) const MCP_EXAMPLES: &str = "\
Examples:
  haft mcp
  haft mcp --workspace ~/project --access read-only
  haft mcp --http 127.0.0.1:7333
  haft mcp install claude-desktop
  haft mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  haft mcp list";

pub(crate) const MCP_TOKEN_EXAMPLES: &str = "\
Examples:
  haft mcp token list
  haft mcp token new 127.0.0.1:7333 --days 7
  haft mcp token revoke 5f0c21ab";

pub(crate) const MCP_INSTALL_EXAMPLES: &str = "\
Examples:
  haft mcp install vscode
  haft mcp install claude-desktop --workspace ~/project
  haft mcp install zed --print
  haft mcp install cursor --yes";

pub(crate) const SESSIONS: &str = "\
Conversations with models. Each message, call and result is stored before the next step; an interrupted session is repaired when \
it is resumed: `haft sessions resume ID`.";

pub(crate) const SESSIONS_EXAMPLES: &str = "\
Examples:
  haft sessions list
  haft sessions list --search tokyo --all
  haft sessions show last
  haft sessions export 3f9c21ab > session.json";

pub(crate) const SESSIONS_RESUME_EXAMPLES: &str = "\
Examples:
  haft sessions resume
  haft sessions resume 3f9c21ab \"and now in London?\"";

pub(crate) const AGENTS: &str = "\
An agent is a name for a model, a prompt, an access level and a choice of tools: a table [agents.NAME] of the configuration. \
`main` always exists and is the default. `haft run --agent NAME` uses another.";

pub(crate) const AGENTS_EXAMPLES: &str = "\
Examples:
  haft agents list
  haft agents show coder
  haft agents edit coder";

pub(crate) const AGENTS_LIST_EXAMPLES: &str = "\
Examples:
  haft agents list
  haft agents list --json | jq -r '.[].name'";

pub(crate) const AGENTS_SHOW_EXAMPLES: &str = "\
Examples:
  haft agents show main
  haft agents show main --prompt
  haft agents show coder --json | jq '.tools[] | select(.offered | not)'";

pub(crate) const AGENTS_EDIT: &str = "\
Change an agent in your configuration file; the rest of the file stays as it is. Without flags, on a terminal, its tools are \
ticked in a list: up and down, space, typing to filter, enter to save, esc to leave. With flags there is no prompt.

A tool that its profile hides is added to agents.NAME.tools.also_allow, one that is switched off to agents.NAME.tools.deny. A tool \
that another table removes cannot be switched on here: the message says what to change. A file that does not load is not written.";

pub(crate) const AGENTS_EDIT_EXAMPLES: &str = "\
Examples:
  haft agents edit coder
  haft agents edit coder --create --model anthropic/claude-sonnet-4-5 --no-tool http_request
  haft agents edit reader --only read_file,get_current_time --dry-run";

pub(crate) const HISTORY: &str = "\
List past calls, newest first, or show one in full: its arguments, effects, decision, outcome, and how to undo it.";

pub(crate) const HISTORY_EXAMPLES: &str = "\
Examples:
  haft history --tool write_file --limit 5
  haft history 3f9c21ab";

pub(crate) const UNDO: &str = "\
Restore every file that a call changed, or none: renamed and removed files come back, new ones are removed. With --session, \
undo all calls of a session. If something else has changed one of the files, no file is touched unless --force is given. Other \
effects, such as programs that ran, are not undone.";

pub(crate) const UNDO_EXAMPLES: &str = "\
Examples:
  haft undo
  haft undo 3f9c21ab --force
  haft undo --session
  haft undo --session 8d07e4b2";

pub(crate) const QUARANTINE: &str = "\
List what commands wrote and could not stay where it was: protected files such as .envrc, Git hooks and settings that run programs. \
Each entry was moved here when its command ended, and stays for 14 days (retention.quarantine).

Look at an entry before you restore it: other programs run or trust what is in it.";

pub(crate) const QUARANTINE_EXAMPLES: &str = "\
Examples:
  haft quarantine
  haft quarantine show q-3f9c21ab4d
  haft quarantine restore q-3f9c
  haft quarantine remove --all";

pub(crate) const PRUNE: &str = "\
List the stored data that exceeds the limits of [retention]: how much would go, and how much stays. --yes removes it. What a running \
process, job or session uses stays. Haft does the same once a day by itself.

Without its old contents a change cannot be undone any more; the history still has the call.";

pub(crate) const PRUNE_EXAMPLES: &str = "\
Examples:
  haft prune
  haft prune --yes
  HAFT_RETENTION_SESSIONS_DAYS=30 haft prune";

pub(crate) const STORE: &str = "\
Copy everything that is kept in a folder to a PostgreSQL server: history, sessions, scheduled jobs, what channels keep, old file contents \
and spilled output. Every table is counted and hashed on both sides. A copy that was cut off continues where it was; a database that is in \
use already is refused. End every other haft first.

It needs a build with the feature postgres. HAFT_STORE names the server from then on.";

pub(crate) const STORE_EXAMPLES: &str = "\
Examples:
  haft store copy --to postgres://haft@db.example.org/haft
  haft store copy --from sqlite:/srv/haft --to postgres://haft@db.example.org/haft
  HAFT_STORE=postgres://haft@db.example.org/haft haft history";

pub(crate) const CONFIG: &str = "\
Check and show the configuration. Layers, weakest first: built-in, your own file, the project's file \
(.haft/config.toml), HAFT_… variables, flags. A project's file can only make things stricter.";

pub(crate) const CONFIG_EXAMPLES: &str = "\
Examples:
  haft config check
  haft config preset careful
  haft config show --json";

pub(crate) const PRESET_EXAMPLES: &str = "\
Examples:
  haft config preset
  haft config preset careful --dry-run";

pub(crate) const DOCTOR: &str = "\
Check what works here: one line for each thing that Haft needs, with a fix for each that does not work. Nothing is sent \
anywhere. The exit code is 1 if anything is broken. --fix prints the one command that installs what is missing; it installs nothing.";

pub(crate) const DOCTOR_EXAMPLES: &str = "\
Examples:
  haft doctor
  haft doctor --fix
  haft doctor --json";

pub(crate) const DEMO: &str = "\
Play a tour of about two minutes: a command in the sandbox, an edit with its diff, two attempts to get out that are refused, why they \
were, what is on record, and undo. Every scene is a real command, in a scratch folder with a configuration and a history of its own, \
which is removed at the end and on Ctrl-C. It needs no key and no network. Without a terminal, or with --fast, it does not pause.";

pub(crate) const DEMO_EXAMPLES: &str = "\
Examples:
  haft demo
  haft demo --fast";

pub(crate) const COMPLETIONS: &str = "\
Write a completion script for a shell to standard output. It completes commands, flags and values: tools, their parameters, agents, \
models, sessions, calls.";

pub(crate) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  haft completions bash > ~/.local/share/bash-completion/completions/haft
  haft completions zsh > ~/.zfunc/_haft     # a folder of your fpath
  haft completions fish > ~/.config/fish/completions/haft.fish";

pub(crate) const MAN_EXAMPLES: &str = "\
Examples:
  haft man | man -l -
  haft man call > haft-call.1
  haft man --folder ~/.local/share/man/man1";

pub(crate) const MCP_SERVERS_EXAMPLES: &str = "\
Examples:
  haft mcp add files -- npx -y @modelcontextprotocol/server-filesystem .   add a server that is a program
  haft mcp add hub --url https://mcp.example.org/v1 --token-env HUB_TOKEN  add a server at an address
  haft mcp add notes --sandbox --folder ~/notes -- notes-server            run it in the sandbox
  haft mcp list                                                            what is configured, and what waits for you
  haft mcp test files                                                      start it, and list what it offers
  haft mcp trust files                                                     show what has changed, and approve it
  haft mcp login hub                                                       sign in to it in a browser
  haft mcp remove files";

pub(crate) const SERVE: &str = "\
Serves a page and an HTTP API on this machine: chat with agents, watch every call, answer approvals, look at tools, policy and history. \
Sessions run in the server and continue when the page is closed. The link that is printed signs a browser in, once; every other request \
needs a token. Questions about calls are asked on the page and at this terminal, and the first answer counts. Ctrl-C cancels what runs and \
ends the server.";

pub(crate) const SERVE_EXAMPLES: &str = "\
Examples:
  haft serve
  haft serve --listen 127.0.0.1:0
  haft serve --workspace ~/project --access read-only";

pub(crate) const TENANTS: &str = "\
A tenant is a Haft of its own behind one `haft serve`: its own process, state, workspace, users and limits. Nothing of one tenant is \
visible to another. Its users open the link that an invitation prints, or send its token. Settings of a tenant can only tighten what the \
configuration of this user says; quotas are settings: quota.calls, quota.tokens, quota.money, quota.cpu_seconds, quota.storage. \
docs/TENANTS.md says what separates tenants, and what does not.";

pub(crate) const TENANTS_EXAMPLES: &str = "\
Examples:
  haft tenants add acme --set quota.calls=1000 --set quota.money=5.00
  haft tenants invite acme ann --scopes view,chat,approve
  haft tenants team acme support --scopes view,chat
  haft tenants invite acme bob --team support
  haft tenants set acme quota.storage=2GB access=read-only
  haft tenants show acme
  haft tenants dismiss acme bob
  haft tenants remove acme --yes";

pub(crate) const WORKER: &str = "\
Does the work of servers on other machines: turns of sessions, and calls of the tools that are named. It needs the database of HAFT_STORE \
and the queue of HAFT_QUEUE, the same as the servers. Its own configuration holds, together with what the server allows: what either \
refuses is refused. Ctrl-C and SIGTERM let it finish what runs, within the grace; then another worker continues it (docs/FLEET.md).";

pub(crate) const WORKER_EXAMPLES: &str = "\
Examples:
  export HAFT_STORE=postgres://haft@db.example.org/haft HAFT_QUEUE=nats://queue.example.org:4222
  haft worker
  haft worker --agents main,reviewer --capacity 8 --lease 30
  haft worker --tools exec --labels gpu --name gpu-1";

pub(crate) const FLEET: &str = "\
Shows how the servers and workers of several machines stand: what waits and for how long, what runs and with whom, what was set aside, \
and which workers live.";

pub(crate) const FLEET_EXAMPLES: &str = "\
Examples:
  haft fleet status
  haft fleet status --json
  haft fleet demo";
