import { fork, type ChildProcess } from 'node:child_process';
import { systemClock } from '../queue/runtime/clock.js';
import { within } from '../queue/runtime/within.js';
import { PROCESS_NAME, STOP_TIMEOUT } from './messages.js';
import type { ResolvedRunWorkersOptions } from './options.js';

/** The time the last output of an ended process may take, in ms. A child of that process may keep the output open. */
const LAST_OUTPUT_MS = 500;

/** The end of a process. */
export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Why it could not be started. */
  error?: unknown;
}

/** A process, and how it ends. */
interface Forked {
  /** Undefined if it could not be started. */
  child: ChildProcess | undefined;
  end: Promise<ProcessEnd>;
}

/**
 * Starts the entry file again, with the arguments and Node options of this process. So a loader for TypeScript works
 * there too. Never throws: a process that cannot be started has ended.
 */
export function forkEntry(name: string, options: ResolvedRunWorkersOptions): Forked {
  try {
    const child = tryFork(name, options);
    return { child: child.pid === undefined ? undefined : child, end: endOf(child) };
  } catch (error) {
    return { child: undefined, end: Promise.resolve({ code: null, signal: null, error }) };
  }
}

/** Throws what `env` throws, and where memory is short or the environment too long. */
function tryFork(name: string, { entry, env, stopTimeoutMs }: ResolvedRunWorkersOptions): ChildProcess {
  const own = typeof env === 'function' ? env(name) : env;
  return fork(entry, process.argv.slice(2), {
    // A debugger's port can be had once only.
    execArgv: process.execArgv.map((arg) => arg.replace(/^--inspect(-brk|-wait)?(=.*)?$/, '--inspect=0')),
    env: { ...process.env, ...own, [PROCESS_NAME]: name, [STOP_TIMEOUT]: String(stopTimeoutMs) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
}

/** Resolves when a process has ended and all it said has arrived. */
async function endOf(child: ChildProcess): Promise<ProcessEnd> {
  const closed = new Promise((resolve) => child.once('close', resolve));
  const disconnected = new Promise<void>((resolve) => child.once('disconnect', resolve));
  const end = await new Promise<ProcessEnd>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.on('error', (error) => child.pid === undefined && resolve({ code: null, signal: null, error }));
  });
  if (child.pid !== undefined) {
    const quiet = Promise.all([closed, child.connected ? disconnected : undefined]);
    await within(systemClock, LAST_OUTPUT_MS, quiet, () => undefined);
  }
  return end;
}

export function describeEnd({ code, signal }: ProcessEnd): string {
  return signal ? `was ended by ${signal}` : code === null ? 'could not be started' : `ended with code ${code}`;
}
