import { setTimeout as sleep } from 'node:timers/promises';
import type { HostProcess } from './host-process.js';
import type { Context } from './context.js';
import { wholeNumber } from './numbers.js';
import type { Session } from './redis/session.js';
import type { Part } from './text.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The end of a long-running command: Ctrl+C, a signal, its own end, or an outage of Redis. */
export class Interruption {
  /** Resolves when the command shall end; rejects where Redis is away. */
  readonly over: Promise<void>;
  isOver = false;
  private readonly watch = new AbortController();
  private readonly resolve: () => void;

  constructor(session: Session) {
    let resolve!: () => void;
    const ended = new Promise<void>((done) => (resolve = done));
    this.resolve = () => resolve(); // a listener of a signal gets its name
    SIGNALS.forEach((signal) => process.once(signal, this.resolve));
    this.over = Promise.race([ended, session.lost(this.watch.signal)]).finally(() => (this.isOver = true));
    this.over.catch(() => undefined); // it is awaited later, or the command is over
  }

  /** Ends the command. */
  readonly end = (): void => this.resolve();

  /** Waits this long, or until the end. */
  async rest(ms: number): Promise<void> {
    const { signal } = this.watch;
    await Promise.race([sleep(ms, undefined, { signal }).catch(() => undefined), this.over]);
  }

  /** Listens no more. */
  close(): void {
    this.watch.abort();
    SIGNALS.forEach((signal) => process.off(signal, this.resolve));
  }
}

const SHORTEST_MS = 100;
const CONTROL_C = '\u0003';

/** A result as JSON shows it, and as text. */
export type Shown = [value: unknown, words: () => Part];

/** Reads and shows the result repeatedly, until the end. */
export async function showRepeatedly(
  { session, out, stdin }: Context,
  { every: asked = 1_000, count }: { every?: number; count?: unknown },
  read: () => Promise<Shown>,
): Promise<void> {
  const every = Math.max(SHORTEST_MS, asked);
  const most = wholeNumber('count', count as string | undefined) ?? Infinity;
  const interruption = new Interruption(session);
  const release = out.holdScreen();
  const ignoreKeys = endAtKey(stdin, interruption.end);
  try {
    for (let i = 1; i <= most; i++) {
      const seen = await Promise.race([read(), interruption.over]);
      if (!seen) {
        return;
      }
      out.redraw(...seen);
      await (i < most ? interruption.rest(every) : undefined);
    }
  } finally {
    ignoreKeys();
    interruption.close();
    release();
  }
}

/** Calls `end` at the key q or Ctrl+C, where a person types. Returns a function that listens no more. */
function endAtKey(stdin: HostProcess['stdin'], end: () => void): () => void {
  if (!stdin.isTTY || !stdin.setRawMode) {
    return () => undefined;
  }
  const onData = (typed: Buffer) => {
    if (/^q$/i.test(typed.toString()) || typed.toString().includes(CONTROL_C)) {
      end();
    }
  };
  stdin.setRawMode(true); // else a key counts only after Enter
  stdin.on('data', onData);
  return () => {
    stdin.off('data', onData);
    stdin.setRawMode?.(false);
    stdin.pause();
  };
}
