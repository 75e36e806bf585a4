// Timers that fire on demand, so that no test waits for the seconds until a handler counts as stuck.
import { jest } from '@jest/globals';
import { eventually } from '../faults/wait.js';

/** The timers of one length that are set between now and the end of the test. */
interface HeldTimers {
  /** Waits until this many are set, and fires them all. */
  fire(count?: number): Promise<void>;
}

/** Holds back the timers of exactly this length. */
export function holdTimers(ms: number): HeldTimers {
  const held = new Map<NodeJS.Timeout, () => void>();
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const hold = (task: (...given: unknown[]) => void, after?: number, ...given: unknown[]) => {
    const timer = set(() => task(...given), after);
    if (after === ms) held.set(timer, () => task(...given));
    return timer;
  };
  jest.spyOn(globalThis, 'setTimeout').mockImplementation(hold as typeof setTimeout);
  jest.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    held.delete(timer as NodeJS.Timeout);
    clear(timer);
  });
  return {
    fire: async (count = 1) => {
      await eventually(() => held.size >= count, { what: `${count} timers of ${ms} ms are set` });
      const due = [...held];
      held.clear();
      for (const [timer, task] of due) {
        clear(timer);
        task();
      }
    },
  };
}
