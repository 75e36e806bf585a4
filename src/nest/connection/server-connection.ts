import type { ServerFinding } from '../../queue/doctor/server-audit.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { SafeLogger } from '../../queue/errors/safe-logger.js';
import type { OutboxWriter } from '../../queue/store/outbox-writer.js';
import type { QueueStore } from '../../queue/store/queue-store.js';
import type { ResolvedModuleOptions } from '../options/job-queue.options.js';

/** The app's connection to the server of its queues: Redis, or in a test the memory of the process. */
export interface ServerConnection {
  readonly store: QueueStore;
  readonly connection: {
    readonly logger: SafeLogger;
    whenReady(): Promise<void>;
    /** Returns whether the server is connected: now, and at each change. */
    watch(listener: (connected: boolean) => void): void;
  };
  readonly ready: boolean;
  readonly isClosed: boolean;
  /** The address of the server, without a password. */
  readonly address: string;

  /** The last error of the connection. */
  readonly trouble: string;
  /** What to do about that error. */
  readonly remedy: string;

  /** @throws RedisUnsuitableError where the server is unsuitable, or not there in time */
  require(timeoutMs: number): Promise<void>;
  /** Waits until the server is there and suitable. Returns false if it is away. */
  reach(timeoutMs: number): Promise<boolean>;
  /** @throws RedisUnsuitableError without a reply in time */
  ask<Value>(timeoutMs: number, ask: () => Promise<Value>): Promise<Value>;
  /** Asks at once: does not wait for the server to be there. */
  askNow<Value>(timeoutMs: number, ask: () => Promise<Value>): Promise<Value>;
  ping(): Promise<void>;
  /** Returns what endangers jobs on the server. */
  audit(queues: readonly JobQueue[]): Promise<ServerFinding[]>;
  /** True with `redis: 'memory'`: its jobs end with this process, and no other process sees them. */
  readonly isEmbedded?: boolean;
  /** Takes the place of a database, for enqueues in a transaction: of a test. */
  readonly outbox?: OutboxWriter;
  /** Called when the worker of the app stops, with a promise that settles at its end. */
  stopping?(stopped: Promise<unknown>): void;
  close(timeoutMs?: number): Promise<void>;
}

/** Puts another server in the place of Redis. A global module provides it; `nest-job-queue/testing` does. */
export interface StoreOverride {
  connect(logger: SafeLogger): ServerConnection;
  adjust(options: ResolvedModuleOptions): ResolvedModuleOptions;
}

export const STORE_OVERRIDE: symbol = Symbol.for('nest-job-queue:store-override');
