// The same verbs through the Nest module: JobQueueService, @JobHandler, @OnJobEvent. One app serves the queues of all
// cells of a row. Cells that shut down have their own app.
import {
  Catch,
  Injectable,
  Module,
  Scope,
  UseFilters,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplicationContext,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  JobHandler,
  JobQueueModule,
  JobQueueService,
  OnJobEvent,
  type Job,
  type WorkerEvent,
} from 'nest-job-queue';
import { queueOn } from '../../support/queue/queue-state.js';
import { closeFirst } from '../../support/redis/own-redis.js';
import { uniqueQueueName } from '../../support/redis/redis.js';
import { BULK, Play } from './play.js';
import { definitionOf, rowIn, type Row } from './rows.js';
import type { Driver, Stage } from './scene.js';
import { server, serverUrl } from './server.js';
import { RETRIES_AT_ONCE } from '../../support/queue/retries.js';

/** The most apps that are open at once. */
const MOST_APPS = 8;
const SHUT_DOWN = 'a shutdown gives it back';
const open = new Set<INestApplicationContext>();
closeFirst(() => Promise.all([...open].map(close)));

/** One app, the names of its queues by column, and by name what their handlers are to do. */
interface Cells {
  app: INestApplicationContext;
  names: ReadonlyMap<string, string>;
  plays: ReadonlyMap<string, Play>;
}

/** The decorator of the handler class, beside `@JobHandler`. */
export type HandlerKind = keyof typeof KINDS;

@Catch()
class Rethrows implements ExceptionFilter {
  catch(error: unknown): never {
    throw error;
  }
}

const KINDS = {
  plain: [],
  enhanced: [
    UseGuards({ canActivate: () => true }),
    UseInterceptors({ intercept: (_context: ExecutionContext, next: CallHandler) => next.handle() }),
    UseFilters(Rethrows),
  ],
  'REQUEST-scoped': [Injectable({ scope: Scope.REQUEST })],
} satisfies Record<string, ClassDecorator[]>;

/**
 * Returns a driver whose apps serve a queue for each of these columns. Without columns its queues have no worker.
 */
export function nestDriver(columns: readonly string[] = [], kind: HandlerKind = 'plain'): Driver {
  const served = columns.filter((column) => column !== SHUT_DOWN);
  const booted = new Map<Row | undefined, Promise<Cells>>();

  const cellsOf = (row: Row | undefined): Promise<Cells> => {
    const cells = booted.get(row) ?? boot(row, served, kind);
    booted.set(row, cells);
    if (booted.size > MOST_APPS) {
      // The oldest row is over: a few run at once, in their order.
      const [oldest, over] = booted.entries().next().value!;
      booted.delete(oldest);
      void over.then(({ app }) => close(app));
    }
    return cells;
  };

  return {
    name: kind === 'plain' ? 'the Nest module' : `the Nest module, ${kind}`,
    open: async (row, column) => {
      const cells = await cellsOf(columns.length > 0 ? row : undefined);
      const { app, names, plays } = column === SHUT_DOWN ? await boot(row, [column], kind) : cells;
      const name = names.get(column) ?? uniqueQueueName('cell');
      return stageOf(name, row, plays.get(name) ?? new Play(), cells.app.get(JobQueueService), app);
    },
  };
}

/** Returns the verbs of `jobs`, on a queue that `app` serves. */
function stageOf(name: string, row: Row, play: Play, jobs: JobQueueService, app: INestApplicationContext): Stage {
  const queue = jobs.queue(name);
  const state = queueOn(server(), {}, name);
  const subject = row.typed ? definitionOf(name) : name;
  return {
    queue,
    state,
    deadLetters: jobs.queue(subject).deadLetters,
    schedules: {
      upsert: (...args) => jobs.schedules.upsert(subject, ...args),
      runNow: (id) => jobs.schedules.runNow(subject, id),
    },
    enqueue: (payload, options, typed) =>
      typed ? jobs.enqueue(definitionOf(name), payload, options) : jobs.enqueue(name, payload, options),
    pause: () => jobs.pause(subject),
    resume: () => jobs.resume(subject),
    cancel: (id) => jobs.cancel(subject, id),
    get: (id) => jobs.get(name, id),
    promote: (id) => jobs.queue(subject).promote(id),
    update: (id, payload) => jobs.queue(name).update(id, payload),
    setPriority: (id, priority) => jobs.queue(subject).setPriority(id, priority),
    runAgain: (id) => jobs.queue(subject).runAgain(id),
    reschedule: (id, start) => jobs.queue(subject).reschedule(id, start),
    remove: (id) => jobs.queue(subject).remove(id),
    clean: (status) => jobs.queue(subject).clean(status),
    purge: () => jobs.queue(subject).purge({ confirm: name }),
    ...play.verbs(queue, state),
    keepWaiting: () => jobs.pauseWorker(name),
    claimAgain: () => jobs.resumeWorker(name),
    running: async () => {
      await play.started.promise;
      await jobs.pause(subject);
    },
    shutDown: async () => {
      await close(app);
      await play.until('released');
    },
  };
}

async function close(app: INestApplicationContext): Promise<void> {
  if (open.delete(app)) {
    await app.close();
  }
}

async function boot(row: Row | undefined, columns: readonly string[], kind: HandlerKind): Promise<Cells> {
  const names = new Map(columns.map((column) => [column, uniqueQueueName('cell')]));
  const plays = new Map([...names.values()].map((name) => [name, new Play()]));
  class Handlers {
    run(job: Job | Job[]): Promise<unknown> {
      return Array.isArray(job)
        ? Promise.all(job.map((each) => plays.get(each.queue)!.handle(each)))
        : plays.get(job.queue)!.handle(job);
    }
  }
  KINDS[kind].forEach((decorate) => decorate(Handlers));
  class Listener {
    @OnJobEvent(['completed', 'retry', 'failed', 'cancelled', 'released', 'lost'])
    ended(event: WorkerEvent): void {
      plays.get(event.job.queue)!.tell(event);
    }
  }
  const method = Object.getOwnPropertyDescriptor(Handlers.prototype, 'run')!;
  for (const [column, name] of names) {
    const options = {
      ...(row && rowIn(column, row).handler),
      ...(row?.bulk && { bulk: BULK }),
      prefetch: row?.ahead ? 1 : 0,
      concurrency: 1,
      visibilityMs: 3_000,
    };
    const decorate = row?.typed ? JobHandler(definitionOf(name), options) : JobHandler(name, options);
    (decorate as MethodDecorator)(Handlers.prototype, 'run', method);
  }
  const redis = serverUrl();

  @Module({
    imports: [JobQueueModule.forRoot({ redis, shutdownTimeoutMs: 200, ...RETRIES_AT_ONCE })],
    providers: [Handlers, Listener],
  })
  class CellsModule {}
  const app = await NestFactory.createApplicationContext(CellsModule, { logger: false });
  open.add(app);
  return { app, names, plays };
}
