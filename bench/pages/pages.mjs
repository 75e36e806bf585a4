// npm run bench -- --pages [--json docs/internals/figures/dashboard-pages.json]
//
// Times the dashboard's requests with 100,000 and a million waiting jobs. Counts what viewers cost Redis.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { fill } from './fill.mjs';
import { QUEUES } from './queues.mjs';

const VIEWERS = [0, 1, 10];
/** The dashboard shares an answer for 700 ms, and each request here must be read afresh. */
const PAUSE_MS = 750;

/** Prints the figures, and writes them to a file where one is named. */
export async function reportPages(bench, { machine, redis }, file) {
  const report = { machine, redis, ...(await runPages(bench)) };
  const text = JSON.stringify(report, null, 2);
  console.log(text);
  if (file) await writeFile(file, `${text}\n`);
}

async function runPages(bench) {
  const levels = bench.quick ? [10_000] : [100_000, 1_000_000];
  const rounds = bench.quick ? 5 : 20;
  const report = { queues: QUEUES.length, rounds, requests: {}, viewers: {} };
  for (const level of levels) {
    await bench.server.clear();
    bench.log(`${level.toLocaleString('en')} waiting jobs\n`);
    const ids = await fill(bench.server.url, level);
    const app = await startApp(bench.server.url);
    try {
      report.requests[level] = await timeRequests(app.url, requestsOf(level, ids), rounds);
      report.viewers[level] = await countCommands(bench, app.url);
    } finally {
      await app.stop();
    }
  }
  return report;
}

async function startApp(redisUrl) {
  const path = fileURLToPath(new URL('app.mjs', import.meta.url));
  const child = spawn(process.execPath, [path, redisUrl], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [url] = await once(createInterface({ input: child.stdout }), 'line');
  return {
    url: `${url}/queues`,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** Returns the requests of each page, by the words of the table. */
function requestsOf(level, { waitingId, deadId }) {
  const queue = `queue=${QUEUES[0]}`;
  const list = (offset) => `api/jobs?${queue}&state=pending&limit=50&offset=${offset}`;
  return {
    'the page itself': '',
    'overview of ten queues': 'api/overview',
    'first 50 waiting jobs': list(0),
    '50 waiting jobs in the middle': list(level / 2),
    'last 50 waiting jobs': list(level - 50),
    'one waiting job': `api/job?${queue}&id=${waitingId}`,
    'one dead letter': `api/job?${queue}&id=${deadId}`,
    'find a job by its id': `api/find?id=${waitingId}`,
    'one slice of a search': `api/search?${queue}&state=pending&text=no-such-text`,
    'dead letters by error, a slice': `api/errors?${queue}`,
    groups: `api/groups?${queue}`,
    batches: `api/batches?${queue}`,
    'charts of 24 h': `api/history?${queue}&hours=24`,
    'action log': `api/log?${queue}`,
  };
}

/** Returns the median and the slowest of the rounds, in ms; the first round warms up. */
async function timeRequests(url, requests, rounds) {
  const taken = Object.fromEntries(Object.keys(requests).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, path] of Object.entries(requests)) {
      const before = performance.now();
      const answer = await fetch(path ? `${url}/${path}` : url);
      await answer.arrayBuffer();
      if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
      if (round > 0) taken[name].push(performance.now() - before);
    }
    await sleep(PAUSE_MS);
  }
  return Object.fromEntries(
    Object.entries(taken).map(([name, times]) => {
      const sorted = times.toSorted((a, b) => a - b);
      return [name, { medianMs: round(sorted[Math.floor(sorted.length / 2)]), mostMs: round(sorted.at(-1)) }];
    }),
  );
}

/** Counts commands per second with zero, one and ten viewers of the overview. */
async function countCommands(bench, url) {
  const seconds = bench.quick ? 3 : 20;
  const counted = {};
  for (const viewers of VIEWERS) {
    const stop = new AbortController();
    await Promise.all(Array.from({ length: viewers }, () => look(url, stop.signal)));
    await sleep(viewers === 0 ? 3_000 : 1_500); // the last viewer of before has gone, or the first readings are over
    const counter = await bench.server.countCommands();
    await sleep(seconds * 1_000);
    const { requests, inner } = await counter.stop();
    stop.abort();
    counted[viewers] = { commandsPerS: round(requests / seconds), innerPerS: round(inner / seconds) };
    bench.log(`  ${viewers} viewers: ${counted[viewers].commandsPerS} commands/s\n`);
  }
  return counted;
}

/** Follows the stream as a page does. */
async function look(url, signal) {
  const { body } = await fetch(`${url}/api/stream`, { signal });
  body.pipeTo(new WritableStream(), { signal }).catch(() => {}); // it was stopped
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function round(value) {
  return Math.round(value * 10) / 10;
}
