// An app on plain http at a name: Chromium sends no Sec-Fetch-Site there, so the names of the request decide.
import { once } from 'node:events';
import { createServer, request as forward, type Server } from 'node:http';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { CanActivate, INestApplication } from '@nestjs/common';
import type { DashboardMount } from 'nest-job-queue/dashboard';
import { startDashboard, type DashboardApp, type Platform } from '../../../dashboard/dashboard-app.js';
import { openAny } from '../../../support/browser/browser.js';
import { uniqueQueueName } from '../../../support/redis/redis.js';

const OFF = { worker: false, maintenance: false } as const;
const servers: Server[] = [];

afterAll(() => servers.forEach((server) => server.close().closeAllConnections()));

/** Lets in by the address of the network, which the visitor's browser has. */
class NetworkGuard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as { port: number }).port;
}

const PAGE = '<!doctype html><title>elsewhere</title>';
const elsewhere = await listen(
  createServer((_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE)),
);

const CORS: [what: string, prepare: (app: INestApplication) => void][] = [
  ['without CORS', () => undefined],
  ['with CORS for all', (app) => app.enableCors()],
  ['with CORS for all, with credentials', (app) => app.enableCors({ origin: true, credentials: true })],
  [
    'with CORS by a pattern and for null',
    (app) => app.enableCors({ origin: [/example|internal/, 'null'], credentials: true }),
  ],
];
const DOORS: [door: string, mount: DashboardMount][] = [
  ['a guard', { guards: [NetworkGuard] }],
  ['the link', { allowRemote: false }],
  ['nothing', { allowRemote: true }],
];

/** Returns a script that reads and pauses. Its outcome has each response that the page may read. */
function attack(api: string, queue: string, headers: Record<string, string>): string {
  const change = { 'content-type': 'application/json', 'x-job-queue-dashboard': '1', ...headers };
  const body = JSON.stringify({ action: 'pause', queue });
  return `Promise.allSettled([
    fetch('${api}/overview', { headers: ${JSON.stringify(headers)}, credentials: 'include' }),
    fetch('${api}/overview', { headers: ${JSON.stringify(headers)} }),
    fetch('${api}/queue/act', { method: 'POST', headers: ${JSON.stringify(change)}, credentials: 'include', body: '${body}' }),
    fetch('${api}/queue/act', { method: 'POST', headers: ${JSON.stringify(change)}, body: '${body}' }),
  ]).then((all) => Promise.all(all.map(async ({ value }) => value && { status: value.status, text: await value.text() })))`;
}

type Outcome = { status: number; text: string } | undefined;

describe.each<Platform>(['express', 'fastify'])('on %s', (platform) => {
  describe.each(CORS)('%s', (_, prepare) => {
    it.each(DOORS)('no page of another site reads or changes anything behind %s', async (_door, mount) => {
      const name = uniqueQueueName('mail');
      const app = await startDashboard({
        platform,
        jobs: OFF,
        dashboard: { queues: [name], hosts: ['app.corp.internal'], ...mount },
        prepare,
      });
      const base = `http://app.corp.internal:${new URL(app.url).port}/queues`;
      const [, search = ''] = /(\?token=\S+)/.exec(app.log.lines.join('\n')) ?? [];
      const own = await openAny(base + search); // the browser has the cookie of the link
      for (const site of ['evil.example', 'evil.corp.internal']) {
        const tab = await own.context().newPage();
        const sent: string[] = [];
        tab.on('response', (response) => sent.push(`${response.request().method()} ${response.status()}`));
        await tab.goto(`http://${site}:${elsewhere}/`);
        for (const headers of [{}, { 'x-forwarded-host': `${site}:${elsewhere}` }] as Record<string, string>[]) {
          const outcomes = await tab.evaluate<Outcome[]>(attack(`${base}/api`, name, headers));
          expect(outcomes.filter((each) => each && each.status !== 403)).toEqual([]);
          expect(JSON.stringify(outcomes)).not.toContain(name);
        }
        const frame = `<iframe sandbox="allow-scripts" srcdoc="<script>parent.postMessage(1,'*');onmessage=async({data})=>
          parent.postMessage(JSON.stringify(await eval(data)),'*')</script>"></iframe>`;
        const hidden = await tab.evaluate<string>(`new Promise((resolve) => {
          onmessage = ({ data }) => data === 1
            ? document.querySelector('iframe').contentWindow.postMessage(${JSON.stringify(attack(`${base}/api`, name, { 'x-forwarded-host': 'none' }))}, '*')
            : resolve(data);
          document.body.innerHTML = ${JSON.stringify(frame)};
        })`);
        expect((JSON.parse(hidden) as Outcome[]).filter((each) => each && each.status !== 403)).toEqual([]);
        expect(sent.filter((each) => each.startsWith('POST') && !each.endsWith('403'))).toEqual([]);
        expect((await app.queue(name).stats()).pausedAt).toBeNull();
        await tab.close();
      }
      const mine = await own.evaluate<Outcome[]>(attack(`${base}/api`, name, {}));
      expect(mine.map((each) => each?.status).slice(0, 2)).toEqual([200, 200]);
      expect((await app.queue(name).stats()).pausedAt).not.toBeNull();
      await own.context().close();
    });
  });

  it.each(DOORS.filter(([door]) => door !== 'the link'))(
    'a page whose host name leads to the app afterwards reads and changes nothing behind %s',
    async (_door, mount) => {
      const name = uniqueQueueName('mail');
      let isRebound = false;
      let app: DashboardApp;
      const port = await listen(
        createServer((incoming, outgoing) => {
          if (!isRebound) {
            outgoing.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
            return;
          }
          const { port: to } = new URL(app.url);
          const { method, url, headers } = incoming;
          const passed = forward({ port: to, host: '127.0.0.1', method, path: url, headers }, (answer) => {
            outgoing.writeHead(answer.statusCode!, answer.headers);
            answer.pipe(outgoing);
          });
          incoming.pipe(passed);
        }),
      );
      const run = async (hosts: string[]): Promise<Outcome[]> => {
        app = await startDashboard({ platform, jobs: OFF, dashboard: { queues: [name], hosts, ...mount } });
        isRebound = false;
        const tab = await openAny(`http://rebound.example:${port}/`);
        isRebound = true; // as if its name server answered 127.0.0.1 from now on
        const outcomes = await tab.evaluate<Outcome[]>(attack('/queues/api', name, {}));
        await tab.context().close();
        return outcomes;
      };
      const refused = await run(['app.corp.internal']);
      expect(refused.map((each) => each?.status)).toEqual([403, 403, 403, 403]);
      expect(refused[0]!.text).toContain(`Add it to the option \\"hosts\\"`);
      expect((await app!.queue(name).stats()).pausedAt).toBeNull();
      expect((await run(['rebound.example'])).map((each) => each?.status)).toEqual([200, 200, 200, 200]);
    },
  );
});
