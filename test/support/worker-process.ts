// A worker in a process of its own, to be killed, frozen and thawed. It runs the current sources, transpiled once per
// test file, and reports every event on its standard output.
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll } from '@jest/globals';
import ts from 'typescript';
import { atMost } from './bounds.js';
import { testRedisUrl } from './redis.js';
import { within } from './wait.js';

/** The end of a hang: the first process of a test file transpiles the sources too. */
const START_MS = 60_000;

const root = join(import.meta.dirname, '../..');
const children = new Set<ChildProcess>();
const built = new Map<string, string>();

afterAll(() => {
  children.forEach((child) => child.kill('SIGKILL'));
  built.forEach((folder) => rmSync(folder, { recursive: true, force: true }));
});

export interface WorkerProcessOptions {
  queue: string;
  /** Options of the queue, of the worker, and of the handler, as JSON can carry them. */
  queueOptions?: object;
  workerOptions?: object;
  /** How long the handler works, in ms; it ends at once when its signal aborts, unless it is `deaf`. A job with the payload `poison` kills it. */
  workMs: number;
  deaf?: boolean;
  /** For how long a job with the payload `block` keeps the event loop from all else, in ms. */
  blockMs?: number;
  redisUrl?: string;
  /** Stands at the end of each of its scripts, so that they are another version of them. */
  scriptComment?: string;
  /** Runs the sources of this commit, and not those of now. */
  commit?: string;
}

export interface ProcessEvent {
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
    const script = join(buildOf(options.commit ?? ''), 'test-worker.js');
    const worker = new WorkerProcess(
      spawn(process.execPath, [script, JSON.stringify({ redisUrl: testRedisUrl(), ...options })], {
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
    await worker.event('ready', START_MS);
    return worker;
  }

  async event(type: string, timeoutMs = atMost(15_000)): Promise<ProcessEvent> {
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
import { Redis } from 'ioredis';
import { luaScripts } from './queue/lua.generated.js';

const { scriptComment, redisUrl, queue: name, queueOptions, workerOptions, workMs, deaf, blockMs } = JSON.parse(process.argv[2]);
if (scriptComment) {
  for (const script of Object.keys(luaScripts)) luaScripts[script] += '-- ' + scriptComment + '\\n';
}
// Only now: the digests are made when the module is loaded.
const { JobQueue } = await import('./queue/job-queue.js');
const { Worker } = await import('./worker/worker.js');
const say = (event) => process.stdout.write(JSON.stringify(event) + '\\n');
const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
redis.on('error', () => {});
const queue = new JobQueue(redis, name, queueOptions);

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

const worker = new Worker([{ queue, handlers: { [name]: handle } }], {
  ...workerOptions,
  onEvent: ({ type, job }) => say({ type, id: job.id, attempt: job.attempt }),
});
process.on('SIGTERM', () => worker.stop().then(() => process.exit(0)));
await worker.start();
say({ type: 'ready', id: '', attempt: 0 });
`;

/** Whether the history has a commit: a copy of the sources alone, or of the last commits only, does not. */
export function knowsCommit(commit: string): boolean {
  return spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root }).status === 0;
}

function buildOf(commit: string): string {
  const known = built.get(commit);
  if (known) return known;
  const cache = join(root, '.cache');
  mkdirSync(cache, { recursive: true });
  const target = mkdtempSync(join(cache, 'worker-process-'));
  built.set(commit, target);
  build(commit === '' ? root : checkOut(commit, join(target, 'checkout')), target);
  return target;
}

function checkOut(commit: string, folder: string): string {
  mkdirSync(folder);
  const paths = ['package.json', 'src/queue', 'src/worker', 'lua', 'scripts'];
  const archive = execFileSync('git', ['archive', commit, ...paths], { cwd: root, maxBuffer: 1e8 });
  execFileSync('tar', ['-x'], { cwd: folder, input: archive });
  execFileSync(process.execPath, ['scripts/embed-lua.mjs'], { cwd: folder });
  return folder;
}

/** Transpiles queue and worker into a folder from which packages of the project are found. */
function build(from: string, target: string): void {
  writeFileSync(join(target, 'package.json'), '{"type":"module"}');
  for (const folder of ['queue', 'worker']) {
    for (const file of readdirSync(join(from, 'src', folder))) {
      const source = readFileSync(join(from, 'src', folder, file), 'utf8');
      const { outputText } = ts.transpileModule(source, {
        compilerOptions: {
          target: ts.ScriptTarget.ES2022,
          module: ts.ModuleKind.ESNext,
          experimentalDecorators: true,
          useDefineForClassFields: false,
        },
      });
      const output = join(target, folder, file.replace(/\.ts$/, '.js'));
      mkdirSync(dirname(output), { recursive: true });
      writeFileSync(output, outputText);
    }
  }
  writeFileSync(join(target, 'test-worker.js'), SCRIPT);
}
