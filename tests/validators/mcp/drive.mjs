// Drives `haft mcp` with the TypeScript SDK: lists, calls, approves, cancels, reads what was cut. Prints what came of it as JSON.
// Arguments: the folder of the packages, then `--url URL TOKEN`, or the command of the server.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, ...words] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const { ElicitRequestSchema } = await load("types.js");

const questions = [];
const client = new Client({ name: "driver", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  questions.push(request.params.message);
  return { action: "accept", content: { decision: "allow once" } };
});
const transport =
  words[0] === "--url"
    ? new StreamableHTTPClientTransport(new URL(words[1]), { requestInit: { headers: { Authorization: `Bearer ${words[2]}` } } })
    : new StdioClientTransport({ command: words[0], args: words.slice(1), env: process.env, stderr: "inherit" });
await client.connect(transport);

const texts = (result) => result.content.filter((block) => block.type === "text").map((block) => block.text);
const call = (name, args, options) => client.callTool({ name, arguments: args }, undefined, options);
const tools = (await client.listTools()).tools;
const read = await call("read_file", { path: "hello.txt" });
const written = await call("write_file", { path: "new.txt", content: "by typescript" });
const missing = await call("read_file", { path: "missing.txt" });
const report = await call("system_info", {});
const cancel = new AbortController();
const sleeping = call("exec", { command: "sleep 300" }, { signal: cancel.signal }).then(() => "finished", () => "cancelled");
setTimeout(() => cancel.abort(), 500);
const large = await call("exec", { command: "seq 1 60000" });
const link = large.content.find((block) => block.type === "resource_link");
const page = link && (await client.readResource({ uri: link.uri }));
await client.ping();
console.log(
  JSON.stringify({
    version: transport.protocolVersion ?? client.getServerVersion()?.version,
    tools: tools.map((tool) => tool.name),
    read_only: tools.filter((tool) => tool.annotations.readOnlyHint).map((tool) => tool.name),
    read: texts(read),
    written: [written.isError, texts(written)],
    missing: [missing.isError, texts(missing)],
    structured: Object.keys(report.structuredContent ?? {}).sort(),
    page: page?.contents[0].text.slice(0, 6),
    prompts: (await client.listPrompts()).prompts.map((prompt) => prompt.name),
    cancelled: await sleeping,
    questions,
  }),
);
if (transport.terminateSession) await transport.terminateSession();
await client.close();
