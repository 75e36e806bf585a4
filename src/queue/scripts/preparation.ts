import { NO_TEXT } from '../codec/sealed.js';
import type { Clock } from '../runtime/clock.js';
import { LONGEST_TRIP_MS } from '../runtime/bounds.js';
import type { QueueCalls } from './all-calls.js';
import type { RedisCall } from '../transport/script-runner.js';
import { requirePermissions } from './script-permissions.js';

/** The most queues of one check of permissions, so that it takes Redis about a millisecond. */
const MOST_QUEUES = 16;

interface WaitingQueue {
  calls: QueueCalls;
  done: (prepared: Promise<unknown>) => void;
}

/** Runs calls, and knows which server each key is at. */
interface PreparedStore {
  readonly clock: Clock;
  readonly isSharded: boolean;
  serverOf(calls: QueueCalls): string;
  exec<Reply>(call: RedisCall<Reply>, limit: { timeoutMs: number }): Promise<Reply>;
}

/** Returns whether the scripts of a queue run inside the frame of `lua/audit`, and so have other texts. */
function isFramed({ options: { auditTrail, outcomes } }: QueueCalls): boolean {
  return auditTrail !== undefined || outcomes !== undefined;
}

/** Prepares queues for their first job. The queues of one tick share their calls, because a worker opens all at once. */
export class Preparation {
  private waiting: WaitingQueue[] = [];

  constructor(private readonly store: PreparedStore) {}

  /** Checks the permissions, and sends the texts of scripts that may be needed when the process dies. */
  prepare(calls: QueueCalls): Promise<void> {
    if (this.waiting.length === 0) {
      this.store.clock.soon(() => this.prepareAll(this.waiting.splice(0)));
    }
    return new Promise<unknown>((resolve) => this.waiting.push({ calls, done: resolve })).then(() => undefined);
  }

  private prepareAll(queues: readonly WaitingQueue[]): void {
    const taught = new Map<string, Promise<unknown>>();
    const checked = new Map<WaitingQueue, Promise<unknown>>();
    const size = this.store.isSharded ? 1 : MOST_QUEUES; // a Cluster has each queue in its own slot
    for (let i = 0; i < queues.length; i += size) {
      const group = queues.slice(i, i + size);
      const keys = group.map(({ calls }) => calls.keys);
      const check = requirePermissions(this.store, keys);
      group.forEach((each) => checked.set(each, check));
    }
    for (const each of queues) {
      const server = `${this.store.serverOf(each.calls)} ${isFramed(each.calls)}`;
      const texts = taught.get(server) ?? this.teach(each.calls);
      taught.set(server, texts);
      each.done(Promise.all([checked.get(each), texts]));
    }
  }

  /** Sends the texts of scripts in advance. By the time Redis asks for one, the process may have died. */
  private teach(calls: QueueCalls): Promise<unknown> {
    const start = calls.start([{ id: '', token: this.store.clock.randomId(), fence: 0 }]);
    const teach = (call: RedisCall<unknown>) =>
      this.store.exec(call, { timeoutMs: LONGEST_TRIP_MS }).catch(() => undefined); // the first use teaches it then
    return Promise.all([start, calls.noteDeath({ claims: [], error: NO_TEXT }), calls.release([])].map(teach));
  }
}
