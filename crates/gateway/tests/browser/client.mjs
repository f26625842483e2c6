// A program that uses the API, with a token of a link.

import assert from 'node:assert/strict';

export class Client {
  static async signIn(server) {
    const client = new Client(server.url);
    const answer = await client.send('POST', '/api/login', { token: new URL(server.link).hash.slice('#token='.length) });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    client.cookie = answer.headers.get('set-cookie').split(';')[0];
    return client;
  }

  constructor(url) {
    this.url = url;
  }

  async send(method, path, body = undefined) {
    const headers = { origin: this.url, 'content-type': 'application/json', cookie: this.cookie ?? '' };
    const response = await fetch(this.url + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: text ? JSON.parse(text) : null };
  }

  /** A GET that works. */
  async read(path) {
    const { status, body } = await this.send('GET', path);
    assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`);
    return body;
  }

  /** A change that works. */
  async change(method, path, body) {
    const answer = await this.send(method, path, body);
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  }

  /** The stream of events as an async iterator of `{ id, name, data }`; `close` ends it. */
  async events(query = '') {
    const ending = new AbortController();
    const response = await fetch(`${this.url}/api/events${query}`, { headers: { cookie: this.cookie }, signal: ending.signal });
    assert.equal(response.status, 200);
    const read = async function* () {
      let rest = '';
      for await (const bytes of response.body) {
        rest += Buffer.from(bytes).toString();
        for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
          const frame = rest.slice(0, end);
          rest = rest.slice(end + 2);
          const field = (name) => new RegExp(`^${name}: (.*)$`, 'm').exec(frame)?.[1];
          if (field('event')) yield { id: Number(field('id')), name: field('event'), data: JSON.parse(field('data')) };
        }
      }
    };
    return { events: read(), close: () => ending.abort() };
  }

  /** Sends a message, and waits for the end of its turn; returns the events until then. */
  async turn(session, text) {
    const { events, close } = await this.events();
    await events.next();
    await this.change('POST', `/api/sessions/${session}/messages`, { text });
    const seen = [];
    for await (const event of events) {
      seen.push(event);
      if (event.name === 'item' && event.data.item.type === 'turn_end' && event.data.session === session) break;
    }
    close();
    return seen;
  }

  async create() {
    return (await this.change('POST', '/api/sessions', {})).id;
  }
}
