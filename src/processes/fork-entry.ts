import { fork, type ChildProcess } from 'node:child_process';
import { PROCESS_NAME } from './messages.js';

/** How long the last output may take to arrive once a process has ended, in ms; a child of its own may hold it open. */
const LAST_OUTPUT_MS = 500;

/** How a process ended. */
export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/**
 * Starts the entry file once more, by this process's own means: the same arguments, and the same options of Node, so
 * that a loader for TypeScript works there too.
 */
export function forkEntry(entry: string, name: string, env: Record<string, string>): ChildProcess {
  return fork(entry, process.argv.slice(2), {
    // A debugger's port can be had once only.
    execArgv: process.execArgv.map((arg) => arg.replace(/^--inspect(-brk|-wait)?(=.*)?$/, '--inspect=0')),
    env: { ...process.env, ...env, [PROCESS_NAME]: name },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
}

/** Resolves when a process has ended and all it said has arrived. */
export async function endOf(child: ChildProcess): Promise<ProcessEnd> {
  const closed = new Promise((resolve) => child.once('close', resolve));
  const disconnected = new Promise<void>((resolve) => child.once('disconnect', resolve));
  const end = await new Promise<ProcessEnd>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.on('error', () => child.pid === undefined && resolve({ code: null, signal: null }));
  });
  if (child.pid !== undefined) {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, LAST_OUTPUT_MS);
    });
    await Promise.race([Promise.all([closed, child.connected ? disconnected : undefined]), late]);
    clearTimeout(timer);
  }
  return end;
}

export function describeEnd({ code, signal }: ProcessEnd): string {
  return signal ? `was ended by ${signal}` : code === null ? 'could not be started' : `ended with code ${code}`;
}
