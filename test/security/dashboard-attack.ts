// A seeded attack on every route of a dashboard, with the oracles that judge each answer.
import type { Redis } from 'ioredis';
import { JobQueue } from 'nest-job-queue/core';
import { JobHandler } from 'nest-job-queue';
import type { DashboardAction, DashboardSubject } from 'nest-job-queue/dashboard';
import { BulkRuns } from '#dashboard/actions/bulk-runs.js';
import { DASHBOARD_ACTIONS } from '#dashboard/dashboard-options.js';
import fc from '../support/queue/properties.js';
import { within } from '../support/faults/wait.js';
import { connect, testRedisUrl, uniqueQueueName } from '../support/redis/redis.js';
import { startDashboard, type DashboardApp, type Platform } from '../dashboard/dashboard-app.js';
import { pathOf, routeSamples, type Sample } from '../dashboard/route-samples.js';
import { hostileField, hostileValue, hostileWord, withField } from './hostile.js';
import { changedKeys, keyDigests } from './key-digests.js';
import { BATCH, GROUP, IDS, markQueue, REDACT, SCHEDULE, SECRET } from './marked-queue.js';

/** The mark of jobs that the viewer may not see: of a hidden queue, and some of the shown queue. */
const VEILED = 'veiled-';
const ANSWER_MS = 10_000;
const STREAM_MS = 100;

export interface Attack {
  route: string;
  sample: Sample;
  fields: [string, unknown][];
  /** A text in place of the JSON of a body. */
  rawBody: string | undefined;
  headers: Record<string, string>;
  allowed: readonly DashboardAction[];
}

/** Headers of a request; those of `FOREIGN` are of another site, whose requests change nothing. */
const FOREIGN: Record<string, string>[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'x-job-queue-dashboard': '' },
  { origin: 'https://evil.example', 'sec-fetch-site': 'same-site' },
];
const ODD: Record<string, string>[] = [
  { 'x-http-method-override': 'DELETE' },
  { 'x-forwarded-for': '127.0.0.1', 'x-forwarded-host': 'evil.example' },
  { cookie: 'job-queue-link-0=__proto__; __proto__=1' },
  { authorization: 'Bearer ../../' },
  { accept: 'text/html;q=__proto__' },
  { 'content-type': 'application/json; charset=__proto__' },
  { 'content-encoding': 'gzip' },
];
const foreign = new Set(FOREIGN);

/** The app under attack. */
export class AttackedDashboard {
  readonly redis: Redis = connect();
  readonly shown = uniqueQueueName('shown');
  readonly hidden = uniqueQueueName(`${VEILED}queue`);
  readonly healthy = uniqueQueueName('healthy');
  readonly samples = routeSamples(this.shown);
  readonly errors: unknown[] = [];
  app!: DashboardApp;
  private allowed: ReadonlySet<DashboardAction> = new Set();
  private before = new Map<string, string>();

  async start(platform: Platform): Promise<this> {
    const queues = Object.fromEntries([this.shown, this.hidden].map((name) => [name, { redact: REDACT }]));
    const providers = [this.healthy].map((name) => {
      @JobHandler(name)
      class Handler {
        handle(): string {
          return 'done';
        }
      }
      return Handler;
    });
    for (const [name, prefix] of [
      [this.shown, ''],
      [this.hidden, VEILED],
    ] as const) {
      await markQueue(
        new JobQueue(this.redis, name, { redact: REDACT, auditTrail: { maxEntries: 1_000 } }),
        prefix,
      );
    }
    const shown = new JobQueue(this.redis, this.shown, {});
    await shown.enqueue({ note: VEILED }, { id: `${VEILED}failed`, maxAttempts: 1, priority: 1 });
    await shown.fail((await shown.claim())!, new Error(`broken by ${VEILED}error`));
    const can = (action: DashboardAction, _request: object, { queue, id }: DashboardSubject) =>
      this.allowed.has(action) && queue !== this.hidden && id?.startsWith(VEILED) !== true;
    this.app = await startDashboard({
      platform,
      providers,
      jobs: { redis: testRedisUrl(), maintenance: false, queues },
      dashboard: { queues: [this.shown, this.hidden], can, user: () => 'ada' },
    });
    this.app.log.error = (message: unknown, ...rest: unknown[]) => {
      const error = [message, ...rest].find((each) => each instanceof Error) ?? message;
      // NestJS 11 logs what a body parser refuses.
      if (!(Number((error as { status?: number }).status) < 500)) this.errors.push(error);
      this.app.log.lines.push(`error ${[message, ...rest].map(String).join(' ')}`);
    };
    this.before = await this.keys();
    return this;
  }

  /** Returns attacks on every route. */
  attacks(): fc.Arbitrary<Attack> {
    const routes = Object.entries(this.samples).flatMap(([route, samples]) =>
      samples.map((sample) => ({ route, sample })),
    );
    const name = fc.constantFrom(this.shown, this.shown, this.shown, this.hidden, this.healthy, '__proto__');
    const id = fc.oneof(
      fc.constantFrom(...Object.values(IDS), BATCH, GROUP, SCHEDULE, `${VEILED}failed`, VEILED + IDS.failed),
      hostileWord,
    );
    const aimed = fc.oneof(
      name.map((queue): [string, unknown] => ['queue', queue]),
      id.map((each): [string, unknown] => ['id', each]),
      fc.array(id, { minLength: 1, maxLength: 3 }).map((ids): [string, unknown] => ['ids', ids]),
    );
    return fc
      .record({
        target: fc.constantFrom(...routes),
        fields: fc.oneof(
          { arbitrary: fc.array(aimed, { maxLength: 2 }), weight: 3 },
          fc.array(fc.oneof(aimed, hostileField), { maxLength: 3 }),
        ),
        rawBody: fc.oneof(
          { arbitrary: fc.constant(undefined), weight: 9 },
          fc.constantFrom('{', '[]', 'null', '"x"', '{"__proto__":{}}', '['.repeat(3_000)),
          hostileValue.map((value) => JSON.stringify(value)),
        ),
        headers: fc.oneof({ arbitrary: fc.constant({}), weight: 6 }, fc.constantFrom(...FOREIGN, ...ODD)),
        allowed: fc.oneof(
          fc.constant(DASHBOARD_ACTIONS),
          fc.subarray([...DASHBOARD_ACTIONS]),
          fc.constant<DashboardAction[]>(['view']),
        ),
      })
      .map(({ target, ...rest }) => ({ ...target, ...rest }));
  }

  /** Sends one request, and judges its answer by all oracles. */
  async suffer(attack: Attack): Promise<void> {
    this.allowed = new Set(attack.allowed);
    const entries = await this.lastEntry();
    const answer = await within(ANSWER_MS, `an answer of ${attack.route}`, this.send(attack));
    const runs: { active: Map<string, Promise<void>> } = this.app.app.get(BulkRuns);
    await Promise.all(runs.active.values());
    this.judgeText(attack, answer.text);
    if (answer.status === 500 || this.errors.length > 0) {
      throw new Error(`crash: ${answer.status} ${String(this.errors[0])}`);
    }
    await this.judgeChange(attack, entries);
  }

  /** Throws if a text shows what this viewer may not see. */
  judgeText({ sample: [input] = [{}, []], fields = [] }: Partial<Attack>, text: string): void {
    const asked = JSON.stringify([input, fields]);
    const said = text + this.app.log.lines.splice(0).join('\n');
    for (const mark of [SECRET, SECRET.slice(5), ...(asked.includes(VEILED) ? [] : [VEILED]), `${VEILED}error`]) {
      if (said.includes(mark)) {
        throw new Error(`secret out: ${mark} in ${said.slice(0, 2_000)}`);
      }
    }
  }

  /** Throws if a change lacks a permission or an entry. */
  private async judgeChange(attack: Attack, entries: string): Promise<void> {
    const after = await this.keys();
    const changed = changedKeys(this.before, after);
    this.before = after;
    if (changed.length === 0) {
      return;
    }
    const input = Object.fromEntries([...Object.entries(attack.sample[0]), ...attack.fields]);
    const named = this.samples[attack.route]!.find(([each]) => each['action'] === input['action']);
    const needs = named?.[1] ?? attack.sample[1];
    const isAllowed = !foreign.has(attack.headers) && needs.every((action) => attack.allowed.includes(action));
    const isVeiled = changed.some((key) => key.includes(VEILED));
    if (!isAllowed || isVeiled || needs.every((action) => action === 'view')) {
      throw new Error(`changed without permission: ${changed.join(' ')}`);
    }
    if ((await this.lastEntry()) === entries) {
      throw new Error(`changed without an entry: ${changed.join(' ')}`);
    }
  }

  /** Throws unless a job of another queue runs. */
  async judgeOtherJobs(): Promise<void> {
    const job = await this.app.queue(this.healthy).enqueue(null);
    await job.result({ timeoutMs: ANSWER_MS }).catch((error: Error) => {
      throw new Error(`stall of another job: ${error.message}`);
    });
  }

  private async lastEntry(): Promise<string> {
    const [last] = await this.redis.xrevrange(`queue:${this.shown}:actions`, '+', '-', 'COUNT', 1);
    return last?.[0] ?? '';
  }

  private keys(): Promise<Map<string, string>> {
    return keyDigests(this.redis, [this.shown, this.hidden], /:actions$/);
  }

  private async send({
    route,
    sample,
    fields,
    rawBody,
    headers,
  }: Attack): Promise<{ status: number; text: string }> {
    const [method, path] = pathOf(route);
    const input = fields.reduce<object>(withField, sample[0]);
    const control = new AbortController();
    const timer = route.endsWith('stream') ? setTimeout(() => control.abort(), STREAM_MS) : undefined;
    const query = method === 'GET' ? `?${queryOf(input)}` : '';
    let text = '';
    let status = 0;
    try {
      const response = await fetch(`${this.app.url}${path && `/${path}`}${query}`, {
        method,
        redirect: 'manual',
        signal: control.signal,
        headers: { 'content-type': 'application/json', 'x-job-queue-dashboard': '1', ...headers },
        ...(method === 'POST' && { body: rawBody ?? JSON.stringify(input) }),
      });
      status = response.status;
      text = JSON.stringify([...response.headers]);
      for await (const part of response.body!.pipeThrough(new TextDecoderStream()) as AsyncIterable<string>) {
        text += part;
      }
    } catch (error) {
      if (!control.signal.aborted) throw error;
    }
    clearTimeout(timer);
    return { status, text };
  }
}

/** Returns a query with nested fields, as `qs` and its like read them. */
function queryOf(input: object): string {
  return Object.entries(input)
    .flatMap(([name, value]) =>
      typeof value === 'object' && value !== null
        ? Object.entries(value).map(([key, each]) => [`${name}[${key}]`, textOf(each)])
        : [[name, textOf(value)]],
    )
    .map((pair) => pair.map((each) => encoded(each)).join('='))
    .join('&');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Encodes a part of a query; half a surrogate pair has no code. */
function encoded(text: string): string {
  return encodeURIComponent(text.replaceAll(/\p{Surrogate}/gu, '\uFFFD'));
}

/** Attacks every route, and asks for another job now and then. */
export async function attackDashboard(target: AttackedDashboard, numRuns: number): Promise<void> {
  let count = 0;
  const seen = await fc.check(
    fc.asyncProperty(target.attacks(), async (attack) => {
      await target.suffer(attack);
      if (count++ % 40 === 0) await target.judgeOtherJobs();
    }),
    { numRuns, endOnFailure: true },
  );
  if (seen.failed) {
    throw new Error(`${String((seen.errorInstance as Error).message)}\n${fc.defaultReportMessage(seen)}`);
  }
}
