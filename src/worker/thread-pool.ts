import type { Job } from './job.js';
import { Thread, type ThreadSettings } from './thread.js';
import { ShutdownError } from './worker-errors.js';

/** How long a thread without a job is kept, in ms. */
const IDLE_MS = 60_000;
/** How long a close waits for the threads to end, in ms. */
const CLOSE_MS = 500;

/**
 * The threads of one handler. There is no queue in it: each job that the worker runs at once has a thread, so their
 * number follows from the concurrency, and nothing is claimed that no thread has room for. Threads begin when jobs come.
 */
export class ThreadPool {
  private readonly threads = new Set<Thread>();
  private readonly idle = new Map<Thread, NodeJS.Timeout>();
  private closed = false;

  constructor(private readonly settings: ThreadSettings) {}

  /** A handler function: the same for the worker as one that runs in its own thread. */
  readonly handle = async (job: Job): Promise<unknown> => {
    const thread = this.take();
    try {
      return await thread.run(job);
    } finally {
      this.giveBack(thread);
    }
  };

  /** Ends all threads, whatever they do; one that is inside native code ends when it comes back from there. */
  async close(): Promise<void> {
    this.closed = true;
    this.idle.forEach((timer) => clearTimeout(timer));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS);
    });
    await Promise.race([
      late,
      Promise.all([...this.threads].map((thread) => thread.terminate(new ShutdownError()))),
    ]);
    clearTimeout(timer);
  }

  private take(): Thread {
    if (this.closed) {
      throw new ShutdownError();
    }
    // The one that was used last, so that those too many grow old.
    for (const thread of [...this.idle.keys()].toReversed()) {
      clearTimeout(this.idle.get(thread));
      this.idle.delete(thread);
      if (thread.usable) {
        return thread;
      }
      this.threads.delete(thread);
    }
    const thread = new Thread(this.settings);
    this.threads.add(thread);
    return thread;
  }

  private giveBack(thread: Thread): void {
    if (thread.usable && !this.closed) {
      this.idle.set(thread, setTimeout(() => this.end(thread), IDLE_MS).unref());
    } else {
      this.end(thread);
    }
  }

  private end(thread: Thread): void {
    this.idle.delete(thread);
    this.threads.delete(thread);
    void thread.terminate();
  }
}
