// A worker in a separate process, which a test can kill, freeze and thaw. It runs the current sources, bundled once
// per test file, or an earlier version. It reports every event on its standard output.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { afterAll, jest } from '@jest/globals';
import { bundle } from '../bundle.mjs';
import { earlierVersion } from '../queue/earlier-version.js';
import { testRedisUrl } from '../redis/redis.js';
import { within } from '../faults/wait.js';

/** The end of a hang. */
const START_MS = 60_000;

// Processes are started, on a machine that also runs the other tests.
jest.setTimeout(90_000);

const root = join(import.meta.dirname, '../../..');
const children = new Set<ChildProcess>();
let folder: string | undefined;
let sources: Promise<string> | undefined;

afterAll(() => {
  children.forEach((child) => child.kill('SIGKILL'));
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});

interface WorkerProcessOptions {
  queue: string;
  /** Options of the queue, of the worker, and of the handler, as JSON can carry them. */
  queueOptions?: object;
  /** The numbers of jobs that it runs at once and prefetches. */
  slots?: { concurrency: number; prefetch?: number };
  workerOptions?: object;
  /**
   * The duration of the handler, in ms. It ends at once when its signal aborts, unless it is `deaf`. A job with the
   * payload `poison` kills it.
   */
  workMs: number;
  deaf?: boolean;
  /** The time a job with the payload `block` blocks the event loop, in ms. */
  blockMs?: number;
  redisUrl?: string;
  redisOptions?: object;
  /** True if its client comes from another copy of ioredis than the library's. */
  foreignClient?: boolean;
  /** Runs the earlier version of the library, and not the sources of now. */
  earlier?: boolean;
}

interface ProcessEvent {
  type: string;
  id: string;
  attempt: number;
  /** The name of the reason of an aborted signal. */
  reason?: string;
}

export class WorkerProcess {
  readonly events: ProcessEvent[] = [];
  private readonly waiting = new Set<() => void>();
  private readonly exited: Promise<void>;
  private errors = '';

  private constructor(private readonly child: ChildProcess) {
    children.add(child);
    this.exited = new Promise((resolve) => child.once('exit', () => resolve()));
    createInterface({ input: child.stdout! }).on('line', (line) => {
      this.events.push(JSON.parse(line) as ProcessEvent);
      this.waiting.forEach((look) => look());
    });
    child.stderr!.on('data', (chunk: Buffer) => (this.errors += String(chunk)));
  }

  /** Resolves when the worker has started. */
  static async start(options: WorkerProcessOptions): Promise<WorkerProcess> {
    const library = options.earlier ? `${earlierVersion()}core.js` : await sourcesOfNow();
    const given = JSON.stringify({ redisUrl: testRedisUrl(), library, ...options });
    const worker = new WorkerProcess(
      spawn(process.execPath, [join(ownFolder(), 'test-worker.js'), given], { stdio: ['ignore', 'pipe', 'pipe'] }),
    );
    await worker.event('ready', START_MS);
    return worker;
  }

  async event(type: string, timeoutMs = 30_000): Promise<ProcessEvent> {
    let look: (() => void) | undefined;
    const coming = new Promise<ProcessEvent>((resolve) => {
      look = () => {
        const event = this.events.find((each) => each.type === type);
        if (event) resolve(event);
      };
      this.waiting.add(look);
      look();
    });
    const what = () => `event "${type}"; there were ${JSON.stringify(this.events)} ${this.errors}`;
    return within(timeoutMs, what, coming).finally(() => this.waiting.delete(look!));
  }

  get isDead(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Sends a signal; with SIGKILL it waits for the end. */
  async signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT' | 'SIGTERM'): Promise<void> {
    this.child.kill(signal);
    if (signal === 'SIGKILL') await this.exited;
  }
}

const SCRIPT = `
import { createRequire } from 'node:module';
import * as ioredis from 'ioredis';

const { library, redisUrl, queue: name, queueOptions, slots, workerOptions, workMs, deaf, blockMs, redisOptions, foreignClient } = JSON.parse(process.argv[2]);
const { Redis } = foreignClient ? secondCopy() : ioredis;
const { JobQueue, Worker } = await import(library);
const say = (event) => process.stdout.write(JSON.stringify(event) + '\\n');
const redis = new Redis(redisUrl, { maxRetriesPerRequest: null, ...redisOptions });
redis.on('error', () => {});
const queue = new JobQueue(redis, name, queueOptions);

function secondCopy() {
  const require = createRequire(import.meta.url);
  for (const path of Object.keys(require.cache)) delete require.cache[path];
  const copy = require('ioredis');
  if (copy.Redis === ioredis.Redis) throw new Error('this is the same copy of ioredis');
  return copy;
}

function handle(job) {
  if (job.payload === 'poison') process.kill(process.pid, 'SIGKILL');
  if (job.payload === 'block') {
    const end = performance.now() + blockMs;
    while (performance.now() < end);
  }
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      say({ type: 'worked', id: job.id, attempt: job.attempt });
      resolve(process.pid);
    }, workMs);
    job.signal.addEventListener('abort', () => {
      say({ type: 'aborted', id: job.id, attempt: job.attempt, reason: job.signal.reason.name });
      if (deaf) return;
      clearTimeout(timer);
      reject(job.signal.reason);
    });
  });
}

const worker = new Worker([{ queue, ...slots, handlers: { [name]: handle } }], {
  ...workerOptions,
  onEvent: ({ type, job }) => say({ type, id: job.id, attempt: job.attempt }),
});
process.on('SIGTERM', () => worker.stop().then(() => process.exit(0)));
await worker.start();
say({ type: 'ready', id: '', attempt: 0 });
`;

/** Makes a folder that resolves packages of the project. */
function ownFolder(): string {
  if (folder === undefined) {
    const cache = join(root, '.cache');
    mkdirSync(cache, { recursive: true });
    folder = mkdtempSync(join(cache, 'worker-process-'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'test-worker.js'), SCRIPT);
  }
  return folder;
}

/** Returns the URL of the core, bundled. */
function sourcesOfNow(): Promise<string> {
  sources ??= bundle('src/core.ts', join(ownFolder(), 'core.js')).then((file) => String(pathToFileURL(file)));
  return sources;
}
