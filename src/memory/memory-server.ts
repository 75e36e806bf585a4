import type { JobEvent } from '../queue/model/job-event.js';
import type { ResolvedQueueOptions } from '../queue/model/queue-options.js';
import { MemoryQueue, type QueueHost, type QueueObserver } from './state/memory-queue.js';

/** A wait for jobs of some queues, or for a nudge of its worker. */
interface Waiter {
  queues: readonly string[];
  worker?: string;
  /** @param nudged the queue with a new cancel request @param woken the queue whose marker ended the wait */
  end(nudged?: string, woken?: string): void;
}

/** The state shared by all stores of a test, as processes share a Redis: queues, waits and listeners. */
export class MemoryServer implements QueueHost {
  observer?: QueueObserver;
  private readonly queues = new Map<string, MemoryQueue>();
  /** Queues whose marker is set: a wait for one of them ends at once. */
  private readonly marked = new Set<string>();
  private readonly nudges = new Map<string, string>();
  private readonly waiters = new Set<Waiter>();
  private readonly listeners = new Map<string, Set<(event: JobEvent) => void>>();
  /** The time of the step that runs; undefined between steps. */
  private stepAt: number | undefined;

  /** @param clock the server's time in ms, which alone decides what is due or expired */
  constructor(private readonly clock: () => number) {}

  now(): number {
    return this.stepAt ?? this.clock();
  }

  /** Runs a step, which sees one time as a script on Redis does. */
  step<Reply>(run: () => Reply): Reply {
    const outer = this.stepAt;
    this.stepAt = this.now();
    try {
      return run();
    } finally {
      this.stepAt = outer;
    }
  }

  queue(name: string, options: ResolvedQueueOptions): MemoryQueue {
    const key = `${options.prefix ?? ''}:${name}`;
    let queue = this.queues.get(key);
    if (!queue) {
      queue = new MemoryQueue(name, options, this);
      this.queues.set(key, queue);
    }
    return queue;
  }

  find({ options: { prefix } }: MemoryQueue, name: string): MemoryQueue | undefined {
    return this.queues.get(`${prefix}:${name}`);
  }

  names({ options: { prefix } }: MemoryQueue): string[] {
    return this.all.filter(({ options }) => options.prefix === prefix).map(({ name }) => name);
  }

  /** Returns all queues that were opened here. */
  get all(): MemoryQueue[] {
    return [...this.queues.values()];
  }

  /** Sets the marker of a queue: it wakes one waiter. */
  wake(queue: string): void {
    const waiter = [...this.waiters].find(({ queues }) => queues.includes(queue));
    if (waiter) {
      this.waiters.delete(waiter);
      waiter.end(undefined, queue);
    } else {
      this.marked.add(queue);
    }
  }

  isMarked(queue: string): boolean {
    return this.marked.has(queue);
  }

  nudge(worker: string, queue: string): void {
    const waiter = [...this.waiters].find((each) => each.worker === worker);
    if (waiter) {
      this.waiters.delete(waiter);
      waiter.end(queue);
    } else {
      this.nudges.set(worker, queue);
    }
  }

  /** Waits for a marker or a nudge. The returned function ends the wait. */
  wait(waiter: Waiter): () => void {
    const nudged = waiter.worker === undefined ? undefined : this.nudges.get(waiter.worker);
    const marked = waiter.queues.find((queue) => this.marked.has(queue));
    if (nudged !== undefined) {
      this.nudges.delete(waiter.worker!);
      waiter.end(nudged);
    } else if (marked !== undefined) {
      this.marked.delete(marked);
      waiter.end(undefined, marked);
    } else {
      this.waiters.add(waiter);
    }
    return () => this.waiters.delete(waiter);
  }

  /** Forgets the waits of a worker whose process is gone. */
  disconnect(worker: string): void {
    [...this.waiters].filter((each) => each.worker === worker).forEach((each) => this.waiters.delete(each));
  }

  publish(queue: string, event: JobEvent): void {
    this.listeners.get(queue)?.forEach((listener) => listener(event));
  }

  isListened(queue: string): boolean {
    return (this.listeners.get(queue)?.size ?? 0) > 0;
  }

  subscribe(queue: string, listener: (event: JobEvent) => void): () => void {
    const listeners = this.listeners.get(queue) ?? new Set();
    this.listeners.set(queue, listeners.add(listener));
    return () => void listeners.delete(listener);
  }
}
