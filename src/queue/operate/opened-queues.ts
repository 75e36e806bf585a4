import { registerQueues } from '../register/register-queues.js';
import type { CallLimit, QueueAccess, SleepingQueue } from '../store/queue-store.js';
import type { StoreCall } from '../store/store-call.js';
import type { StoreCalls } from '../store/store-calls.js';
import { keptIn } from '../runtime/collections.js';

/** The queues on the same store that were opened for calls. */
export class OpenedQueues {
  private readonly opened = new Map<string, Promise<StoreCalls>>();
  /** The queue that raised each error of a call. */
  private readonly raisers = new WeakMap<object, string>();

  constructor(
    private readonly queue: QueueAccess,
    private readonly limit: CallLimit,
    /** The options of their keys that differ from those of the queue. */
    private readonly place: Partial<Pick<QueueAccess['options'], 'prefix' | 'hashTag'>> = {},
  ) {}

  async run<Reply>(name: string, build: (calls: StoreCalls) => StoreCall<Reply>): Promise<Reply> {
    const { store, callLimit } = this.queue;
    try {
      const calls = await keptIn(this.opened, name, () => store.open(name, this.options, callLimit));
      return await store.exec(build(calls), this.limit);
    } catch (error) {
      this.opened.delete(name); // it is opened again, because a failed open stays failed
      this.raisers.set(error as Error, name);
      throw error;
    }
  }

  /** Returns the queue whose call has raised an error; undefined if none of these calls has. */
  raiserOf(error: unknown): string | undefined {
    return this.raisers.get(error as Error);
  }

  /** Adds a queue to the register of its Redis, once for this process. */
  register(name: string): void {
    registerQueues(this.accessTo(name));
  }

  /** Returns another queue on the same store, as the code of batches reaches it. */
  accessTo(name: string): QueueAccess {
    const { options } = this;
    const { store, callLimit } = this.queue;
    return {
      name,
      options,
      store,
      callLimit,
      calls: () => store.open(name, options, callLimit),
      exec: (build) => this.run(name, build),
    };
  }

  private get options(): QueueAccess['options'] {
    return { ...this.queue.options, ...this.place };
  }
}

/** Returns another queue on the same store, with the waits of this one. */
export function otherQueue(queue: SleepingQueue, name: string): SleepingQueue {
  const others = new OpenedQueues(queue, queue.callLimit);
  return { ...others.accessTo(name), sleep: (ms) => queue.sleep(ms) };
}
