// One marked queue, and its windows: the dashboard with its stream, commands, metrics, health, spans, and the log.
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { JobHandler, OnJobFailed, type JobFailure } from 'nest-job-queue';
import { JobQueue, type Job } from 'nest-job-queue/core';
import { JobQueueHealthIndicator } from 'nest-job-queue/health';
import { JobMetrics } from 'nest-job-queue/metrics';
import { jobTracing } from 'nest-job-queue/tracing';
import * as promClient from 'prom-client';
import { EXIT } from '#cli/exit-codes.js';
import { eventually } from '../support/faults/wait.js';
import { connect, testRedisUrl, uniqueQueueName } from '../support/redis/redis.js';
import { startWorker } from '../support/worker/workers.js';
import { cli, cliHere } from '../cli/run-cli.js';
import { startDashboard, type DashboardApp } from '../dashboard/dashboard-app.js';
import { pathOf, routeSamples, type Sample } from '../dashboard/route-samples.js';
import { openStream } from '../dashboard/stream.js';
import { BATCH, IDS, markQueue, quoteFailure, quoteSecret, REDACT, SCHEDULE, SECRET } from './marked-queue.js';

/** Arguments of each command that only reads. */
const READS = (queue: string): string[][] => [
  ['queues'],
  ...Object.keys(IDS).map((state) => ['list', queue, state]),
  ...Object.values(IDS).map((id) => ['show', queue, id]),
  ['schedules', queue],
  ['workers', queue],
  ['health', queue],
  ['doctor', queue],
  ['groups', queue],
  ['limits', queue],
  ['batches', queue],
  ['batch', queue, BATCH],
  ['stats', queue],
  ['top', queue, '--count', '1'],
  ['audit', queue],
  ['errors', queue],
];
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

  private get samples(): [route: string, samples: Sample[]][] {
    return Object.entries(routeSamples(this.name)).filter(([route]) => !route.endsWith('stream'));
  }

  /** @param isKnown false: the dashboard has no `redact` for the marked queue, as in a process of its own */
  async open(isKnown = true): Promise<this> {
    const { name, handled, healthy } = this;
    @JobHandler(handled)
    class Handler {
      handle(job: Job): Promise<unknown> {
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
        { redact: REDACT, eventExtras: { results: true } },
      ]),
    );
    this.app = await startDashboard({
      providers: [JobQueueHealthIndicator, Handler, Healthy],
      jobs: { redis: testRedisUrl(), maintenance: false, queues, middleware },
      dashboard: { queues: [name, handled], user: () => 'ada' },
    });
    new JobMetrics({ queues: [name, handled].map((each) => this.app.queue(each)) }).toPrometheus(
      promClient,
      this.registry,
    );
    const marked = new JobQueue(connect(), name, { redact: REDACT, auditTrail: {} });
    await markQueue(marked);
    const { worker } = await startWorker(new JobQueue(connect(), name, { redact: REDACT }), () => 1, {
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
    await (await queue.enqueue({ iban: SECRET })).result();
    const fails = await queue.enqueue({ iban: SECRET, fails: true }, { maxAttempts: 1 });
    await fails.result().catch(() => undefined);
    await eventually(() => this.app.log.lines.filter((line) => line.includes('[redacted]')).length >= 2);
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

  /** Throws unless a job of another queue runs. */
  async judgeOtherJobs(): Promise<void> {
    await (await this.app.queue(this.healthy).enqueue(null)).result({ timeoutMs: 10_000 });
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
