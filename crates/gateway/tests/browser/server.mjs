// `haft serve` in a workspace and a home of its own.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { end, spawnOwned } from './owned.mjs';

const START_TIME = 60_000;
const STOP_TIME = 15_000;

function haftProgram() {
  const program = process.env.HAFT_TEST_BINARY;
  if (!program) throw new Error('HAFT_TEST_BINARY names no program: run this through cargo test, or set it');
  return program;
}

export class HaftServer {
  /** `files` of the workspace by name, `config` of the user as TOML. */
  static async start({ files = {}, config = '', flags = [] } = {}) {
    const server = new HaftServer(files, config);
    await server.run(flags);
    return server;
  }

  constructor(files, config) {
    this.root = mkdtempSync(join(tmpdir(), 'haft-serve-'));
    this.workspace = join(this.root, 'work');
    for (const folder of ['work', 'home', 'config/haft', 'data']) mkdirSync(join(this.root, folder), { recursive: true });
    for (const [name, content] of Object.entries(files)) this.write(name, content);
    if (config) writeFileSync(join(this.root, 'config/haft/config.toml'), config);
  }

  write(name, content) {
    const path = join(this.workspace, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }

  #options() {
    const env = {
      PATH: process.env.PATH,
      HOME: join(this.root, 'home'),
      XDG_CONFIG_HOME: join(this.root, 'config'),
      XDG_DATA_HOME: join(this.root, 'data'),
      TZ: 'UTC',
      LANG: 'C.UTF-8',
      NO_COLOR: '1',
    };
    return { cwd: this.workspace, env, stdio: ['ignore', 'pipe', 'pipe'], signal: 'INT' };
  }

  /** Runs a command of the same user in the same workspace, and returns what it printed. */
  async haft(values) {
    const child = spawnOwned(haftProgram(), values, this.#options());
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes) => {
        output += bytes;
      });
    const timer = setTimeout(() => child.kill('SIGKILL'), START_TIME);
    const code = await new Promise((resolve) => {
      child.once('close', resolve);
    });
    clearTimeout(timer);
    if (code !== 0) throw new Error(`haft ${values.join(' ')} ended with ${code}: ${output}`);
    return output;
  }

  async run(flags) {
    this.child = spawnOwned(haftProgram(), ['serve', ...flags], this.#options());
    this.output = '';
    this.link = await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no link in ${START_TIME / 1000} s: ${this.output}`)), START_TIME);
      const read = (bytes) => {
        this.output += bytes;
        const link = /http:\/\/\S+#token=\S+/.exec(this.output)?.[0];
        if (link) {
          clearTimeout(timer);
          resolve(link);
        }
      };
      this.child.stdout.on('data', read);
      this.child.stderr.on('data', read);
      this.child.on('exit', (code) => {
        clearTimeout(timer);
        reject(new Error(`haft serve ended with ${code}: ${this.output}`));
      });
    });
    this.url = new URL(this.link).origin;
  }

  /** Ends it and starts it again at the same address. */
  async restart() {
    const { host } = new URL(this.url);
    await this.stop();
    await this.run(['--listen', host]);
  }

  /** Ends the server as Ctrl-C does. */
  async stop() {
    if (this.child) await end(this.child, () => this.child.kill('SIGINT'), STOP_TIME);
  }

  async close() {
    await this.stop();
    rmSync(this.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** A server on loopback that answers every request with `answer(request)`. */
export async function otherSite(answer, host = '127.0.0.1') {
  const server = createServer((request, response) => {
    const { status = 200, type = 'text/html', body = '', headers = {} } = answer(request) ?? {};
    response.writeHead(status, { 'content-type': type, ...headers });
    response.end(body);
  });
  await new Promise((resolve) => {
    server.listen(0, host, resolve);
  });
  return {
    url: `http://${host}:${server.address().port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
