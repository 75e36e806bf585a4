// The network between a simulated process and the server: delays, loses and repeats calls and replies, by a seed.
import type { StoreLink } from '#memory/script-store.js';
import type { VirtualClock } from '#testing/time/virtual-clock.js';
import type { Random } from '../../chaos/random.js';
import type { ProcessClock } from '../processes/process-clock.js';

/** Network faults, each as a share of all calls. */
export interface NetworkFaults {
  /** The call never arrives. */
  lost: number;
  /** The call arrives, and its answer does not. */
  unanswered: number;
  /** The call arrives twice, as after a reconnect. */
  repeated: number;
  /** The call or its answer takes up to `longestMs`. */
  delayed: number;
  longestMs: number;
}

export const NO_FAULTS: NetworkFaults = { lost: 0, unanswered: 0, repeated: 0, delayed: 0, longestMs: 0 };

/** A call of a process. A call that arrives twice is the same object both times. */
export interface SentCall {
  readonly script: string;
  readonly process: string;
}

/** Runs calls where the server is, and sees each run. */
export interface Server {
  run<Reply>(call: SentCall, run: () => Reply): Reply;
}

/** Makes the link of a process. Calls arrive in the order of their sending. */
export function linkOf(
  process: string,
  clock: ProcessClock,
  world: VirtualClock,
  random: Random,
  faults: () => NetworkFaults,
  server: Server,
): StoreLink {
  let lastArrival = 0;
  return <Reply>(script: string, run: () => Reply): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const { lost, unanswered, repeated, delayed, longestMs } = faults();
      const delay = () => (random.chance(delayed) ? random.between(0, longestMs) : 0);
      const fate = random.next();
      const arrival = Math.max(lastArrival, world.now() + delay());
      lastArrival = arrival;
      if (fate < lost) {
        return;
      }
      const call: SentCall = { script, process };
      const answer = () => {
        let settle: () => void;
        try {
          const value = server.run(call, run);
          settle = () => resolve(value);
        } catch (error) {
          settle = () => reject(error);
        }
        return () => at(world, delay(), () => clock.run(settle));
      };
      clock.run(() =>
        at(world, arrival - world.now(), () => {
          const deliver = answer();
          if (fate < lost + unanswered) {
            return;
          }
          if (fate >= lost + unanswered + repeated) {
            return deliver();
          }
          const again = () => answer()();
          return random.chance(0.5) ? again() : at(world, random.between(1, Math.max(1, longestMs)), again);
        }),
      );
    });
}

/** Runs a task without a delay at once, so that calls keep their order. */
function at(world: VirtualClock, ms: number, task: () => void): void {
  if (ms > 0) {
    world.setTimeout(task, ms);
  } else {
    task();
  }
}
