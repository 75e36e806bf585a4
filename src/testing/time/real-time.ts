// The real time of the process, for waits on code that a virtual clock does not move. The functions are saved when this
// file is loaded, so that a test runner's fake timers do not stop it.
import { clearTimeout, setImmediate, setTimeout } from 'node:timers';

const later = setImmediate;
const start = setTimeout;
const stop = clearTimeout;

/** Resolves once promises and ticks have nothing more to do. */
export function turn(): Promise<void> {
  return new Promise((resolve) => void later(resolve));
}

/** Resolves with true when the promise does, or with false after `ms` of real time. */
export async function inRealTime(ms: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = start(() => resolve(false), ms);
  });
  const inTime = await Promise.race([promise.then(() => true), late]);
  stop(timer);
  return inTime;
}
