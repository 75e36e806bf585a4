// The keys of one wait of a worker, and what a marker in one of them says.
import type { WaitOutcome } from '../store/queue-store.js';
import type { StoreCalls } from '../store/store-calls.js';
import type { QueueCalls } from './all-calls.js';

export class WaitKeys {
  /** @param worker whose cancels end the wait too; undefined for a consumer */
  constructor(
    private readonly queues: readonly QueueCalls[],
    private readonly worker?: string,
  ) {}

  /** Returns the keys of a wait: first the keys for cancels and interrupts, then those for jobs. Redis serves them in this order. */
  of(waiting: readonly StoreCalls[], running: readonly StoreCalls[]): string[] {
    const [first] = this.queues;
    const nudging = first ? [first, ...(running as readonly QueueCalls[])] : [];
    return [...new Set(nudging.map(this.nudgeOf)), ...waiting.map(wakeOf)];
  }

  /** Returns what a marker says. */
  told(
    waiting: readonly StoreCalls[],
    key: string,
    isCancel: boolean,
  ): Pick<WaitOutcome<[]>, 'cancelIn' | 'wokenIn'> {
    return isCancel
      ? { cancelIn: this.queues.find((queue) => this.nudgeOf(queue) === key) }
      : { wokenIn: waiting.find((queue) => wakeOf(queue) === key) };
  }

  readonly nudgeOf = ({ keys }: QueueCalls): string => keys.nudge(this.worker!);
}

const wakeOf = (queue: StoreCalls): string => (queue as QueueCalls).keys.wake;
