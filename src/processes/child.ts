import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { INestApplicationContext, LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { LIFECYCLE, METRICS_REGISTRY, partToken } from '../nest/connection/connection-tokens.js';
import { findProvider } from '../nest/context/container.js';
import type { WorkerLifecycle } from '../nest/lifecycle/worker-lifecycle.js';
import { IN_MEMORY } from '../nest/job-queue.options.js';
import { InvalidOptionError } from '../queue/errors/errors.js';
import { systemClock } from '../queue/runtime/clock.js';
import { within } from '../queue/runtime/waits.js';
import {
  type LogLevel,
  encodeRecord,
  type FromChild,
  PROCESS_NAME,
  STOP_TIMEOUT,
  type ServingWorker,
  pack,
  reportedError,
  toChild,
} from './messages.js';
import { loadMetricsClient, type MetricList, type MetricsRegistry } from './metrics.js';

/** The time a boot may continue after a stop request, in ms. */
const BOOT_END_MS = 1_000;

/** The module or app that Nest boots. */
export type EntryModule = Parameters<typeof NestFactory.createApplicationContext>[0];

/** Returns whether this process was forked as a worker process. */
export function isWorkerProcess(): boolean {
  return process.env[PROCESS_NAME] !== undefined && process.send !== undefined;
}

/**
 * Runs a worker process. It boots the app without HTTP, reports when its worker runs, and answers pings. It closes the app
 * at a request, at SIGTERM, or when the supervisor is gone. Then the process ends, even if the app does not.
 */
export async function runChild(module: EntryModule): Promise<never> {
  const child = new Child(Number(process.env[STOP_TIMEOUT]));
  // Processes that this one starts are not worker processes of that supervisor.
  delete process.env[PROCESS_NAME];
  delete process.env[STOP_TIMEOUT];
  child.listen();
  await child.boot(module);
  return new Promise(() => undefined); // code after `await runWorkers()` is for the supervisor
}

class Child {
  private booting: Promise<INestApplicationContext> | undefined;
  private stopping = false;

  constructor(private readonly stopTimeoutMs: number) {}

  listen(): void {
    // The supervisor may be gone while this process still writes.
    process.stdout.on('error', () => undefined);
    process.stderr.on('error', () => undefined);
    // A terminal sends it to all processes; the supervisor decides.
    process.on('SIGINT', () => undefined);
    process.on('SIGTERM', () => this.stopAlone());
    process.on('disconnect', () => this.stopAlone());
    process.on('message', (received) => {
      const message = toChild(received);
      if (message?.type === 'ping') {
        send({ type: 'pong' });
      } else if (message?.type === 'stop') {
        void this.stop();
      } else if (message?.type === 'metrics') {
        void this.sendMetrics(message.id);
      } else if (message?.type === 'reclaim') {
        void this.reclaim(message.worker);
      }
    });
    // For the supervisor's line about the end; without a handler of the app Node ends the process right after.
    process.on('uncaughtExceptionMonitor', (error) => send({ type: 'failed', error: reportedError(error) }));
    send({ type: 'hello' });
    if (!process.connected) {
      this.stopAlone(); // the supervisor ended while the entry was imported, before this process listened
    }
  }

  async boot(module: EntryModule): Promise<void> {
    try {
      this.booting = NestFactory.createApplicationContext(module, {
        logger: new ChildLogger(),
        abortOnError: false,
      });
      const app = await this.booting;
      const lifecycle = lifecycleOf(app);
      const lifecycles = lifecyclesOf(app);
      checkServers(lifecycles);
      lifecycles.forEach(({ controls }) =>
        controls.watchServed((id, queues) => send({ type: 'serves', worker: { id, queues } })),
      );
      send({ type: 'booted' });
      await lifecycle.startWorkers();
      lifecycle.watchConnection((connected) => send({ type: connected ? 'running' : 'disconnected' }));
    } catch (error) {
      if (!this.stopping) {
        send({ type: 'failed', error: reportedError(error) }, () => process.exit(1));
      }
    }
  }

  /** Returns the app, or undefined if the boot fails or is slow, so that no job runs yet. */
  private async booted(): Promise<INestApplicationContext | undefined> {
    const booting = this.booting?.catch(() => undefined);
    return booting && within(systemClock, BOOT_END_MS, booting, () => undefined);
  }

  /** Stops without a request of the supervisor, which would set a deadline, so it sets one. */
  private stopAlone(): void {
    send({ type: 'stopping' });
    setTimeout(() => {
      new ChildLogger().error(
        `The app did not close within ${this.stopTimeoutMs} ms; exiting. Find the shutdown hook that hangs, or raise stopTimeoutMs.`,
        undefined,
        'Workers',
      );
      process.exit(1);
    }, this.stopTimeoutMs);
    void this.stop();
  }

  private async sendMetrics(id: number): Promise<void> {
    try {
      const metrics = await readMetrics(await this.booting);
      send({ type: 'metrics', id, reply: { metrics } });
    } catch (error) {
      send({ type: 'metrics', id, reply: { error: (error as Error).message } });
    }
  }

  private async reclaim(worker: ServingWorker): Promise<void> {
    try {
      await reclaimDead(lifecyclesOf(await this.booting!), worker);
      send({ type: 'reclaimed', worker: worker.id });
    } catch (error) {
      send({ type: 'reclaimed', worker: worker.id, error: (error as Error).message });
    }
  }

  private async stop(): Promise<void> {
    if (this.stopping) {
      return;
    }
    this.stopping = true;
    try {
      await (await this.booted())?.close();
    } catch (error) {
      new ChildLogger().error(
        'The app failed to close; exiting. A shutdown hook threw an error',
        (error as Error)?.stack ?? String(error),
        'Workers',
      );
      process.exit(1);
    }
    process.exit(0);
  }
}

function lifecycleOf(app: INestApplicationContext): WorkerLifecycle {
  const lifecycle = app.get<WorkerLifecycle>(LIFECYCLE, { strict: false });
  if (!lifecycle.canServe) {
    throw new InvalidOptionError(
      'runWorkers',
      'an app with a @JobHandler and without `worker: false`',
      'one that runs no handler',
    );
  }
  return lifecycle;
}

/** @throws InvalidOptionError if queues are in memory, which no other process sees */
function checkServers(lifecycles: readonly WorkerLifecycle[]): void {
  if (lifecycles.some(({ isEmbedded }) => isEmbedded)) {
    throw new InvalidOptionError(
      'runWorkers',
      'queues on a Redis server',
      `redis: '${IN_MEMORY}', where each process has its own`,
      'Set REDIS_URL, or start the app without runWorkers.',
    );
  }
}

/** Returns the lifecycle of each connection of the app. */
function lifecyclesOf(app: INestApplicationContext): WorkerLifecycle[] {
  const { connections } = lifecycleOf(app);
  return connections.map((name) => app.get<WorkerLifecycle>(partToken('lifecycle', name), { strict: false }));
}

/**
 * Reads the registry of `JobQueueMetricsModule`, or the default one of prom-client. Leaves out values that JSON cannot
 * carry, such as the lag of an event loop that was not measured yet.
 */
async function readMetrics(app: INestApplicationContext | undefined): Promise<MetricList> {
  const own = app && findProvider<MetricsRegistry | undefined>(app, METRICS_REGISTRY);
  const registry = own ?? (await loadMetricsClient('runWorkers.metrics')).register;
  const metrics = await registry.getMetricsAsJSON();
  return metrics.map((each) => ({ ...each, values: each.values.filter(({ value }) => Number.isFinite(value)) }));
}

function send(message: FromChild, done?: () => void): void {
  if (process.connected) {
    process.send!(pack(message), undefined, undefined, () => done?.());
  } else {
    done?.();
  }
}

/** The time after which a claim that a process sent right before its end has reached Redis, in ms. */
const LAST_CALLS_MS = 1_000;

/**
 * Reclaims the claims of a worker whose process has ended, in the queues that this process knows. It looks twice, because
 * the last claim of that process may reach Redis after the first look.
 */
async function reclaimDead(lifecycles: readonly WorkerLifecycle[], worker: ServingWorker): Promise<void> {
  const reclaim = () =>
    Promise.all(lifecycles.map(({ maintenance }) => maintenance.reclaimWorker(worker.id, worker.queues)));
  await reclaim();
  await delay(LAST_CALLS_MS, undefined, { ref: false });
  await reclaim();
}

/** Nest's logger in a worker process: hands every call to the supervisor, whose own logger prints it. */
class ChildLogger implements LoggerService {
  log = (message: unknown, ...rest: unknown[]) => this.send('log', message, rest);
  error = (message: unknown, ...rest: unknown[]) => this.send('error', message, rest);
  warn = (message: unknown, ...rest: unknown[]) => this.send('warn', message, rest);
  debug = (message: unknown, ...rest: unknown[]) => this.send('debug', message, rest);
  verbose = (message: unknown, ...rest: unknown[]) => this.send('verbose', message, rest);
  fatal = (message: unknown, ...rest: unknown[]) => this.send('fatal', message, rest);

  /** Sends one call of Nest: messages (after an error its stack), and the context as the last string. */
  private send(level: LogLevel, message: unknown, rest: unknown[]): void {
    const last = rest.at(-1);
    const context = typeof last === 'string' ? last : undefined;
    const others = (context === undefined ? rest : rest.slice(0, -1)).filter((each) => each !== undefined);
    process.stdout.write(encodeRecord({ level, text: [message, ...others].map(textOf).join('\n'), context }));
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : inspect(value);
}
