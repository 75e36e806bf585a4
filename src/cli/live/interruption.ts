import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../redis/session.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The end of a long-running command: Ctrl+C, a signal, its own end, or an outage of Redis. */
export class Interruption {
  /** Resolves when the command shall end; rejects where Redis is away. */
  readonly over: Promise<void>;
  isOver = false;
  /** Ends the command with this error. */
  readonly fail: (error: unknown) => void;
  private readonly watch = new AbortController();
  private readonly resolve: () => void;
  private rouse: () => void = () => undefined;
  private isRoused = false;

  /** @param session the connection whose loss ends the command */
  constructor(session?: Session) {
    let resolve!: () => void;
    let reject!: (error: unknown) => void;
    const ended = new Promise<void>((done, fail) => ([resolve, reject] = [done, fail]));
    this.fail = (error) => reject(error);
    this.resolve = () => resolve(); // a listener of a signal gets its name
    SIGNALS.forEach((signal) => process.once(signal, this.resolve));
    this.over = Promise.race([ended, ...(session ? [session.lost(this.watch.signal)] : [])]).finally(
      () => (this.isOver = true),
    );
    this.over.catch(() => undefined); // it is awaited later, or the command is over
  }

  /** Ends the command. */
  readonly end = (): void => this.resolve();

  /** Waits this long, or until the end, or until somebody calls `wake`. */
  async rest(ms: number): Promise<void> {
    const { signal } = this.watch;
    const roused = new Promise<void>((resolve) => (this.rouse = resolve));
    if (this.isRoused) this.rouse();
    await Promise.race([sleep(ms, undefined, { signal }).catch(() => undefined), roused, this.over]);
    this.isRoused = false;
  }

  /** Ends the rest of now, or the next one. */
  wake(): void {
    this.isRoused = true;
    this.rouse();
  }

  /** Listens no more. */
  close(): void {
    this.watch.abort();
    SIGNALS.forEach((signal) => process.off(signal, this.resolve));
  }
}
