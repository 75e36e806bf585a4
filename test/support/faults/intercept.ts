// Acts on the calls between a queue and its store.
import { afterEach } from '@jest/globals';
import type { JobQueue } from '#queue/job-queue.js';
import type { QueueStore } from '#queue/store/queue-store.js';

/** Runs the call, or does something in its place. */
type Act = (run: () => Promise<unknown>) => Promise<unknown>;

const intercepted = new Set<QueueStore>();

afterEach(() => {
  intercepted.forEach((store) => Reflect.deleteProperty(store, 'exec'));
  intercepted.clear();
});

/** Acts on the calls of some scripts that travel alone, until `restore` or the end of the test. */
export function intercept(queue: JobQueue, acts: Readonly<Record<string, Act>>): void {
  pass(queue, (script, run) => acts[script]?.(run) ?? run());
}

/** Returns the list to which each call that travels alone adds its script. */
export function notedScripts(queue: JobQueue): string[] {
  const scripts: string[] = [];
  pass(queue, (script, run) => (scripts.push(script), run()));
  return scripts;
}

/** Lets all calls of a queue pass as before. */
export function restore({ store }: JobQueue): void {
  Reflect.deleteProperty(store, 'exec');
}

function pass({ store }: JobQueue, act: (script: string, run: () => Promise<unknown>) => Promise<unknown>): void {
  intercepted.add(store);
  const exec = store.exec.bind(store);
  store.exec = ((call, limit) => act(call.script, () => exec(call, limit))) as QueueStore['exec'];
}
