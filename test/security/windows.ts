// One marked queue, and its windows: the dashboard with its stream, commands, metrics, health, spans, and the log.
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { Logger } from '@nestjs/common';
import { JobHandler, OnJobFailed, type JobFailure, type VerdictNotice } from 'nest-job-queue';
import { JobQueue, type Job, type JobCodec } from 'nest-job-queue/core';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { JobMetrics } from 'nest-job-queue/metrics';
import { jobTracing } from 'nest-job-queue/tracing';
import type { EventEmitter } from 'node:events';
import type { DynamicModule } from '@nestjs/common';
import type { JobQueueModuleOptions } from 'nest-job-queue';
import { QueueRegistry } from '#nest/connection/queue-registry.js';
import { JOB_QUEUE_OPTIONS } from '#nest/job-queue.options.js';
import { VerdictWatch } from '#nest/lifecycle/verdict-watch.js';
import { loadExample } from '../docs/example.js';
import { startApp } from '../nest/app.js';
import * as promClient from 'prom-client';
import { EXIT } from '#cli/exit-codes.js';
import { eventually } from '../support/faults/wait.js';
import { connect, testRedisUrl, uniqueQueueName } from '../support/redis/redis.js';
import { startWorker } from '../support/worker/workers.js';
import { JOB_PARTS } from '#dashboard/views/job-file.js';
import { serve } from '../cli/mcp/serve.js';
import { cli, cliHere } from '../cli/run-cli.js';
import { startDashboard, type DashboardApp } from '../dashboard/dashboard-app.js';
import { pathOf, routeSamples, type Sample } from '../dashboard/route-samples.js';
import { openStream } from '../dashboard/stream.js';
import {
  Account,
  BATCH,
  IDS,
  markedPayload,
  markQueue,
  quoteFailure,
  quoteSecret,
  REDACT,
  SCHEDULE,
  SECRETS,
} from './marked-queue.js';

/** Arguments of each command that only reads. */
const READS = (queue: string): string[][] => [
  ['queues'],
  ['topics'],
  ...Object.keys(IDS).map((state) => ['list', queue, state]),
  ...Object.values(IDS).map((id) => ['show', queue, id]),
  ['schedules', queue],
  ['workers', queue],
  ['health', queue],
  ['doctor', queue],
  ['groups', queue],
  ['limits', queue],
  ...[IDS.completed, IDS.failed].map((id) => ['stream', queue, id]),
  ['batches', queue],
  ['batch', queue, BATCH],
  ['stats', queue],
  ['top', queue, '--count', '1'],
  ['audit', queue],
  ['errors', queue],
  ['actions', queue],
  ['list', queue, 'failed', '--search', 'e'],
];
/** The commands that no look runs, with why. Each other one is among READS. */
const NO_READ: Readonly<Record<string, string>> = {
  tail: 'runs beside the jobs',
  dashboard: 'serves the routes',
  mcp: 'serves the tools',
  outbox: 'reads a database, and shows no payload',
  migrate: 'reads another library',
  bench: 'makes its own jobs',
  profile: 'shows what code ran, which has no content of jobs',
  'shared-limit': 'shows a limit, which has no content of jobs',
  completion: 'prints a script',
  ...Object.fromEntries(
    [
      'enqueue',
      'cancel',
      'promote',
      'run-again',
      'mark-error',
      'redrive',
      'discard',
      'pause',
      'resume',
      'remove',
      'purge',
      'clean',
      'signal',
    ].map((name) => [name, 'changes, and says how many jobs']),
  ),
};
const CRASH = /--verbose shows where it happened|^(?:Type|Range|Reference|Syntax)Error|ReplyError|WRONGTYPE$/m;
const STEERS = /[^\P{Cc}\n]|[\u202A-\u202E\u2028\u2029\u2066-\u2069]/u;
/** The ids and names that stand for those of the samples. */
const AIMS: Record<string, string> = { a: IDS.failed, b: BATCH, s: SCHEDULE };

/** An app whose windows look at one marked queue. */
export class Windows {
  readonly name = uniqueQueueName('shown');
  /** A queue of the same fields, whose jobs a worker of the app runs. */
  readonly handled = uniqueQueueName('handled');
  readonly healthy = uniqueQueueName('healthy');
  readonly registry = new promClient.Registry();
  private readonly spans = new InMemorySpanExporter();
  app!: DashboardApp;
  private turn = false;

  /**
   * @param codec that of the marked queues
   * @param redact null: nothing is hidden, so that each window shows the fields that it could
   */
  constructor(
    private readonly codec?: JobCodec,
    private readonly redact: readonly string[] | null = REDACT,
  ) {}

  private get samples(): [route: string, samples: Sample[]][] {
    return Object.entries(routeSamples(this.name)).filter(([route]) => !route.endsWith('stream'));
  }

  /** @param isKnown false: the dashboard has no `redact` for the marked queue, as in a process of its own */
  async open(isKnown = true): Promise<this> {
    const { name, handled, healthy } = this;
    const codec = this.codec && { codec: this.codec };
    const redact = this.redact && { redact: this.redact };
    @JobHandler(handled)
    class Handler {
      private readonly logger = new Logger('Handler');

      handle(job: Job): Promise<unknown> {
        const account = new Account(SECRETS.logged);
        this.logger.log(account);
        this.logger.log({ account, map: new Map([['iban', SECRETS.logged]]), list: [job.payload] });
        this.logger.warn('the payload', job.payload);
        this.logger.error(new Error(`for ${SECRETS.payload}`));
        return quoteSecret(job);
      }

      @OnJobFailed(handled, { maxAttempts: 1 })
      tell(job: Job<JobFailure<{ iban: string }>>): void {
        quoteFailure(job);
      }
    }
    @JobHandler(healthy)
    class Healthy {
      handle(): string {
        return 'done';
      }
    }
    const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.spans)] });
    const middleware = [jobTracing({ tracer: tracer.getTracer('windows') })];
    const queues = Object.fromEntries(
      [...(isKnown ? [name] : []), handled].map((each) => [
        each,
        { ...redact, eventExtras: { results: true }, ...codec },
      ]),
    );
    this.app = await startDashboard({
      providers: [JobQueueHealthIndicator, Handler, Healthy],
      jobs: { redis: testRedisUrl(), maintenance: false, queues, middleware, logContext: true },
      dashboard: { queues: [name, handled], user: () => 'ada' },
    });
    new JobMetrics({ queues: [name, handled].map((each) => this.app.queue(each)) }).toPrometheus(
      promClient,
      this.registry,
    );
    const marked = new JobQueue(connect(), name, { ...redact, auditTrail: {}, ...codec });
    await markQueue(marked);
    const { worker } = await startWorker(new JobQueue(connect(), name, { ...redact, ...codec }), () => 1, {
      concurrency: 1,
      sweepIntervalMs: 0, // its ticks would write during a look
    });
    worker.pause(); // commands know the names to hide from live workers
    return this;
  }

  /** Reads each window, and returns its text by its name: every other command in JSON. Throws if a window breaks. */
  async look(): Promise<Map<string, string>> {
    this.turn = !this.turn;
    const texts = new Map([
      ['metrics', await this.registry.metrics()],
      ['health', await this.healthReport()],
      ['stream', await this.streamed()],
    ]);
    for (const [route, samples] of this.samples.filter(([each]) => each.startsWith('GET'))) {
      texts.set(route, await this.ask(route, aimed(samples[0]![0])));
    }
    for (const args of READS(this.name)) {
      const json = args.length % 2 === Number(this.turn) ? ['--json'] : [];
      texts.set([...args.slice(0, 1), ...args.slice(2), ...json].join(' '), await this.command([...args, ...json]));
    }
    for (const part of JOB_PARTS) {
      for (const id of Object.values(IDS)) {
        const query = new URLSearchParams({ queue: this.name, id, part }).toString();
        const { body } = await this.app.get(`/api/job/file?${query}`);
        texts.set(`file ${part}`, `${texts.get(`file ${part}`) ?? ''}${JSON.stringify(body)}`);
      }
    }
    for (const [name, text] of await this.tools()) texts.set(`tool ${name}`, text);
    texts.set('log', this.app.log.lines.splice(0).join('\n'));
    return texts;
  }

  /** Sends each request that changes something. */
  async act(): Promise<Map<string, string>> {
    const texts = new Map<string, string>();
    for (const [route, samples] of this.samples.filter(([each]) => each.startsWith('POST'))) {
      for (const [input] of samples) {
        texts.set(`${route} ${String(input['action'])}`, await this.ask(route, aimed(input)));
      }
    }
    return texts;
  }

  /**
   * Lets a worker of the app complete a job, fail another one, and fail to handle that failure.
   *
   * @returns the id of the dead letter, and what the windows of these moments show
   */
  async run(): Promise<{ dead: string; texts: Map<string, string> }> {
    const queue = this.app.queue(this.handled);
    const tails = [[], ['--json']].map((flags) => cliHere(['tail', this.handled, '--count', '4', ...flags]));
    await eventually(() => tails.every(({ ran }) => (ran.stdout + ran.stderr).includes('Listening')));
    await (await queue.enqueue(markedPayload())).result();
    const fails = await queue.enqueue({ ...markedPayload(), fails: true }, { maxAttempts: 1 });
    await fails.result().catch(() => undefined);
    const mark = this.redact ? '[redacted]' : SECRETS.payload;
    await eventually(() => this.app.log.lines.filter((line) => line.includes(mark)).length >= 2);
    const [words, json] = await Promise.all(tails.map(({ over }) => over));
    const spans = this.spans.getFinishedSpans().map(({ name, attributes, status, events }) => ({
      name,
      attributes,
      status,
      events,
    }));
    const texts = new Map([
      ['tail', words!.stdout + words!.stderr],
      ['tail --json', json!.stdout + json!.stderr],
      ['spans', JSON.stringify(spans)],
    ]);
    return { dead: fails.id, texts };
  }

  /** Returns what alerts send, also by the examples of the docs, and what an uncaught error leaves. */
  async alert(): Promise<Map<string, string>> {
    const notices: VerdictNotice[] = [];
    await connect().unlink('queue:@errors:alerts'); // other windows have told the cause
    const queues = this.app.app.get(QueueRegistry, { strict: false });
    await new VerdictWatch(
      { options: { onVerdict: (notice) => notices.push(notice) }, queues, logger: this.app.log },
      0,
    ).runOnce();
    const texts = new Map([['alerts', JSON.stringify(notices)]]);
    const fetched = globalThis.fetch;
    for (const mark of ['webhook', 'slack']) {
      const { jobs } = await loadExample<{ jobs: DynamicModule }>('monitoring.md', mark);
      const app = await startApp({ module: jobs });
      const { onVerdict } = app.get<JobQueueModuleOptions>(JOB_QUEUE_OPTIONS, { strict: false });
      const bodies: string[] = [];
      globalThis.fetch = (_url, init) => {
        bodies.push(init?.body as string);
        return Promise.resolve(new Response());
      };
      try {
        for (const notice of notices) await onVerdict!(notice);
      } finally {
        globalThis.fetch = fetched;
      }
      texts.set(`alert by ${mark}`, bodies.join('\n'));
    }
    return texts;
  }

  /** Returns what an uncaught error of the process leaves in the log and in the jobs that run. */
  async die(): Promise<Map<string, string>> {
    const queue = this.app.queue(this.handled);
    const job = await queue.enqueue({ ...markedPayload(), stays: true });
    await eventually(async () => (await queue.get(job.id))!.log.length > 0);
    const error = Object.assign(new Error(`left ${Object.values(SECRETS).join(', ')}`), { name: SECRETS.payload });
    (process as EventEmitter).emit('uncaughtExceptionMonitor', error, 'uncaughtException');
    const key = `queue:${this.handled}:job:${job.id}`;
    await eventually(async () => (await connect().hget(key, 'death')) !== null);
    const log = this.app.log.lines.splice(0).join('\n');
    return new Map([
      ['uncaught error: log', log],
      ['uncaught error: job', (await connect().hget(key, 'death'))!],
    ]);
  }

  /** Throws unless a job of another queue runs. */
  async judgeOtherJobs(): Promise<void> {
    await (await this.app.queue(this.healthy).enqueue(null)).result({ timeoutMs: 10_000 });
  }

  /** Throws if a command is neither looked at nor has a reason. */
  async requireAllCommands(): Promise<void> {
    const { stdout } = await cli(['--help']);
    const commands = [...stdout.split('\nCommands:\n')[1]!.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name!);
    const looked = READS('').map(([name]) => name);
    const left = commands.filter((name) => name !== 'help' && !looked.includes(name) && !(name in NO_READ));
    if (left.length > 0) throw new Error(`commands that no look runs: ${left.join(', ')}`);
  }

  /** Calls each tool for assistants that only reads. */
  private async tools(): Promise<Map<string, string>> {
    const { client, call, end } = await serve();
    const texts = new Map<string, string>();
    for (const { name, inputSchema } of (await client.listTools()).tools) {
      const asked = inputSchema.properties ?? {};
      const said: string[] = [];
      for (const id of 'id' in asked ? Object.values(IDS) : ['']) {
        const given = { ...('queue' in asked && { queue: this.name }), ...(id !== '' && { id }) };
        said.push((await call(name, given)).text);
      }
      texts.set(name, said.join('\n'));
    }
    await end();
    return texts;
  }

  private async ask(route: string, input: Record<string, unknown>): Promise<string> {
    const [method, path] = pathOf(route);
    const at = path && `/${path}`;
    const query = new URLSearchParams(input as Record<string, string>).toString();
    const { status, body } = await (method === 'GET' ? this.app.get(`${at}?${query}`) : this.app.post(at, input));
    if (status === 500) throw new Error(`crash: ${route}: ${this.app.log.lines.join('\n')}`);
    return JSON.stringify(body);
  }

  private async command(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await cli(args);
    const said = stdout + stderr;
    if (CRASH.test(said) || !Object.values<number | null>(EXIT).includes(code)) {
      throw new Error(`crash: ${args.join(' ')}: ${code} ${said}`);
    }
    if (STEERS.test(said)) throw new Error(`steers the terminal: ${args.join(' ')}: ${JSON.stringify(said)}`);
    return said;
  }

  /** Returns the first reading of the stream. */
  private async streamed(): Promise<string> {
    const stream = await openStream(this.app.url);
    await eventually(() => stream.text().includes('"overview"'));
    stream.stop();
    return stream.text();
  }

  private async healthReport(): Promise<string> {
    try {
      const indicator = this.app.app.get(JobQueueHealthIndicator);
      return JSON.stringify(await indicator.check('jobQueue', { maxFailed: 0 }));
    } catch (error) {
      const { message, causes } = error as { message: string; causes?: unknown };
      if (error instanceof TypeError) throw error;
      return JSON.stringify([message, causes]);
    }
  }
}

function aim(value: unknown): unknown {
  return typeof value === 'string' ? (AIMS[value] ?? value) : value;
}

function aimed(input: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [key, Array.isArray(value) ? value.map(aim) : aim(value)]),
  );
}
