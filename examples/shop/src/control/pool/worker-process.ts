import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Conditions, FromWorker, ToWorker } from '../../trouble/messages.js';

const ENTRY = fileURLToPath(new URL('../../worker.js', import.meta.url));

export type WorkerState = 'starting' | 'ready' | 'hanging' | 'stopping';

/** What a worker works on, as it said itself. */
export interface CurrentJob {
  id: string;
  name: string;
  attempt: number;
  since: number;
}

/** One worker process, `worker.js`, started and watched from here. */
export class WorkerProcess {
  state: WorkerState = 'starting';
  job: CurrentJob | undefined;
  /** How many jobs it completed. */
  processed = 0;
  /** Since when it is asked and does not answer, counted in questions. */
  unanswered = 0;
  /** The signal or the exit code, once it has ended. */
  readonly exited: Promise<string | number>;
  private readonly child: ChildProcess;
  private deadline: NodeJS.Timeout | undefined;

  constructor(
    readonly name: string,
    conditions: Conditions,
    private readonly onMessage: (message: FromWorker) => void,
  ) {
    const env: NodeJS.ProcessEnv = {
      ...process.env,
      SHOP_WORKS: 'yes',
      // One job at a time, as the workers of the Redis pattern: a crash takes no more than one job with it.
      SHOP_CONCURRENCY: '1',
      SHOP_CONDITIONS: JSON.stringify(conditions),
    };
    this.child = fork(ENTRY, { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.child.on('message', (message) => this.hear(message as FromWorker));
    this.exited = new Promise((resolve) => {
      this.child.once('exit', (code, signal) => {
        clearTimeout(this.deadline);
        resolve(signal ?? code ?? 0);
      });
      this.child.once('error', (error) => resolve(error.message));
    });
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Whether the pool still counts on it. */
  get running(): boolean {
    return this.state !== 'stopping';
  }

  tell(message: ToWorker): void {
    // It may end at any moment: then there is nobody to tell.
    if (this.child.connected) this.child.send(message, () => undefined);
  }

  /** Asks for a sign of life. */
  ask(): void {
    this.unanswered += 1;
    this.tell({ type: 'ping' });
  }

  /** SIGTERM: it finishes its job and exits. Where that takes longer than `timeoutMs`, SIGKILL. */
  async stop(timeoutMs: number): Promise<void> {
    const hangs = this.state === 'hanging';
    this.state = 'stopping';
    this.child.kill(hangs ? 'SIGKILL' : 'SIGTERM');
    clearTimeout(this.deadline);
    this.deadline = setTimeout(() => this.child.kill('SIGKILL'), timeoutMs);
    await this.exited;
  }

  /** SIGKILL: it ends in the middle of whatever it does, and tells nobody. */
  kill(): void {
    this.child.kill('SIGKILL');
  }

  private hear(message: FromWorker): void {
    this.unanswered = 0;
    if (message.type === 'ready' && this.state === 'starting') {
      this.state = 'ready';
    } else if (message.type === 'began') {
      const { id, name, attempt } = message;
      // A report is made beside the jobs of the page; the page shows these.
      this.job = { id, name, attempt, since: Date.now() };
    } else if (message.type === 'hangs') {
      this.state = 'hanging';
    } else if (message.type === 'ended') {
      this.job = undefined;
      this.processed += message.completed ? 1 : 0;
    }
    this.onMessage(message);
  }
}
