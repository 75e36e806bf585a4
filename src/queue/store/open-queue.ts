import type { ResolvedQueueOptions } from '../model/queue-options.js';
import { SHORTEST_TRIP_MS } from '../runtime/bounds.js';
import { codedCalls } from './coded-calls.js';
import { plainJobWarning } from './plain-job-warning.js';
import type { CallLimit, QueueAccess, QueueStore } from './queue-store.js';
import type { StoreCall } from './store-call.js';
import type { StoreCalls } from './store-calls.js';

/** A queue in its store, opened at the first step. */
export class OpenQueue implements QueueAccess {
  private opened: StoreCalls | undefined;
  private opening: Promise<StoreCalls> | undefined;

  constructor(
    readonly name: string,
    readonly options: ResolvedQueueOptions,
    readonly store: QueueStore,
  ) {}

  get callLimit(): Required<CallLimit> {
    return { timeoutMs: Math.max(SHORTEST_TRIP_MS, this.options.enqueueTimeoutMs) };
  }

  async calls(): Promise<StoreCalls> {
    if (this.opened) {
      return this.opened;
    }
    this.opening ??= this.store
      .open(this.name, this.options, this.callLimit)
      .then((calls) => (this.opened = codedCalls(calls, this.options.codec, plainJobWarning(this))))
      .finally(() => (this.opening = undefined));
    return this.opening;
  }

  exec<Reply>(build: (calls: StoreCalls) => StoreCall<Reply>, limit: CallLimit = this.callLimit): Promise<Reply> {
    return this.opened
      ? this.store.exec(build(this.opened), limit)
      : this.calls().then((calls) => this.store.exec(build(calls), limit));
  }
}
