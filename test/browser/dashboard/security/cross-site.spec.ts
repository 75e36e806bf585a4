// The requests that another site can make a logged-in operator's browser send, and the changes by a proxy in front.
import { createServer, request as forward, type IncomingMessage, type Server } from 'node:http';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Request } from 'playwright-core';
import { openPage, says, type ControlPage } from '../../../support/browser/browser.js';
import { startWorld, type DashboardWorld } from '../../../support/browser/dashboard-world.js';

let world: DashboardWorld;
let page: ControlPage;
const servers: Server[] = [];

beforeAll(async () => {
  world = await startWorld();
  await world.fill();
  page = await openPage(world.url);
}, 120_000);

afterAll(() => servers.forEach((server) => server.close().closeAllConnections()));

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as { port: number }).port;
}

/** Serves a page of another site: for a browser, localhost and 127.0.0.1 are two. */
async function foreignPage(html: string, headers: Record<string, string> = {}): Promise<string> {
  const port = await listen(
    createServer((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html', ...headers }).end(html),
    ),
  );
  return `http://localhost:${port}/`;
}

const isChange = (request: Request) => request.url().startsWith(world.url) && request.method() === 'POST';

/**
 * Opens a page of another site in a tab of the operator's browser. Returns the status of the dashboard's response, or
 * why the browser keeps the response from the page.
 */
async function attack(html: string, headers: Record<string, string> = {}): Promise<number | string | undefined> {
  const tab = await page.context().newPage();
  const answer = Promise.race([
    tab.waitForEvent('response', (response) => isChange(response.request())).then((response) => response.status()),
    tab.waitForEvent('requestfailed', isChange).then((request) => request.failure()?.errorText),
  ]);
  await tab.goto(await foreignPage(html, headers));
  const outcome = await answer;
  await tab.close();
  return outcome;
}

const target = () => `${world.url}/api/queue/act`;
const form = (enctype: string, fields: string) =>
  `<form method="post" enctype="${enctype}" action="${target()}">${fields}</form><script>document.forms[0].submit()</script>`;
const FIELDS = '<input name="action" value="pause"><input name="queue" value="email">';
/** An enctype in which the text of a form can be JSON. */
const JSON_FIELD = `<input name='{"action":"pause","queue":"email","x":"' value='"}'>`;

it.each([
  ['a form', () => form('application/x-www-form-urlencoded', FIELDS), {}],
  ['a form whose text is JSON', () => form('text/plain', JSON_FIELD), {}],
  [
    'a form of a page that hides its origin',
    () => form('text/plain', JSON_FIELD),
    { 'referrer-policy': 'no-referrer' },
  ],
  [
    'JSON by a script, sent as text',
    () => `<script>fetch('${target()}', { method: 'POST', mode: 'no-cors', credentials: 'include',
      headers: { 'content-type': 'text/plain' }, body: '{"action":"pause","queue":"email"}' })</script>`,
    {},
  ],
])('refuses %s of another site', async (_name, html, headers) => {
  expect([403, 'net::ERR_BLOCKED_BY_RESPONSE.NotSameOrigin']).toContain(await attack(html(), headers));
  expect((await world.jobs.queue('email').stats()).pausedAt).toBeNull();
});

it('lets no script of another site send JSON with the header, or read an answer', async () => {
  const tab = await page.context().newPage();
  const answered: string[] = [];
  tab.on('response', (response) => answered.push(`${response.request().method()} ${response.status()}`));
  await tab.goto(await foreignPage('<p>elsewhere</p>'));
  const outcome = await tab.evaluate(`Promise.allSettled([
    fetch('${target()}', { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json',
      'x-job-queue-dashboard': '1' }, body: '{"action":"pause","queue":"email"}' }),
    fetch('${world.url}/api/overview', { credentials: 'include' }),
  ]).then((all) => all.map(({ status }) => status))`);
  expect(outcome).toEqual(['rejected', 'rejected']);
  expect(answered.filter((each) => each.startsWith('POST'))).toEqual([]);
  expect((await world.jobs.queue('email').stats()).pausedAt).toBeNull();
  await tab.close();
});

it('gives no script of another site the content where the app allows CORS for all', async () => {
  const open = await startWorld({}, 'fastify', {}, (app) => app.enableCors({ origin: true, credentials: true }));
  await open.jobs.enqueue('email', { card: '4111' });
  const tab = await page.context().newPage();
  await tab.goto(await foreignPage('<p>elsewhere</p>'));
  const asked = ['overview', 'jobs?queue=email&state=pending'].map((path) => `${open.url}/api/${path}`);
  const outcome = await tab.evaluate(`Promise.all([
    ...${JSON.stringify(asked)}.map((url) => fetch(url, { credentials: 'include' })),
    fetch('${open.url}/api/queue/act', { method: 'POST', credentials: 'include', headers: { 'content-type':
      'application/json', 'x-job-queue-dashboard': '1' }, body: '{"action":"pause","queue":"email"}' }),
  ]).then((all) => Promise.all(all.map(async (response) => [response.status, (await response.text()).includes('4111')])))`);
  expect(outcome).toEqual(Array.from({ length: 3 }, () => [403, false]));
  const streamed = await tab.evaluate(`new Promise((resolve) => {
    const stream = new EventSource('${open.url}/api/stream', { withCredentials: true });
    stream.onmessage = ({ data }) => resolve(data);
    stream.onerror = () => resolve('refused');
  })`);
  expect(streamed).toBe('refused');
  expect((await open.jobs.queue('email').stats()).pausedAt).toBeNull();
  await tab.close();
});

it('is shown in no frame of another site', async () => {
  const tab = await page.context().newPage();
  await tab.goto(await foreignPage(`<iframe src="${world.url}"></iframe>`));
  await tab.waitForLoadState('networkidle');
  const texts = await Promise.all(tab.frames().map((frame) => frame.locator('body').textContent()));
  expect(texts.join(' ')).not.toContain('email');
  await tab.close();
});

/** Serves an app under another path. With `keepsHost` the proxy passes on the host that the browser asked for. */
function proxyTo(upstream: () => URL, prefix: string, keepsHost: boolean): Promise<number> {
  return listen(
    createServer((incoming: IncomingMessage, outgoing) => {
      const { host, ...headers } = incoming.headers;
      const passed = forward(
        {
          port: upstream().port,
          host: upstream().hostname,
          method: incoming.method,
          path: incoming.url!.replace(prefix, ''),
          headers: { ...headers, host: keepsHost ? host : 'app.internal' },
        },
        (answer) => {
          outgoing.writeHead(answer.statusCode!, answer.headers);
          answer.pipe(outgoing);
        },
      );
      outgoing.on('close', () => passed.destroy());
      passed.on('error', () => outgoing.destroy());
      incoming.pipe(passed);
    }),
  );
}

it.each([
  ['keeps the host', true],
  ['changes the host', false],
])('works behind a proxy that changes the path and %s', async (_name, keepsHost) => {
  const port = await proxyTo(() => new URL(app.url), '/internal/ops', keepsHost);
  const origin = `http://127.0.0.1:${port}`;
  const app = await startWorld(keepsHost ? {} : { hosts: ['app.internal'], origins: [origin] });
  await app.fill();
  const behind = await openPage(`${origin}/internal/ops/queues`);
  await behind.goto(`${behind.url().split('#')[0]}#/queue/email`);
  await behind.getByRole('button', { name: 'Pause the queue' }).click();
  await behind.locator('dialog').getByRole('button', { name: 'Pause', exact: true }).click();
  await says(behind, '.verdict-line', 'is paused');
  await behind.getByRole('button', { name: 'Resume the queue' }).click();
  await behind.locator('dialog').getByRole('button', { name: 'Resume', exact: true }).click();
  await says(behind, '.verdict-line', 'is stuck');
  expect(behind.complaints).toEqual([]);
  await behind.context().close();
});
