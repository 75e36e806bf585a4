// The same verbs through the Nest module: JobQueueService, @JobHandler, @OnJobEvent. One app serves the queues of all
// cells; only what is shut down has an app of its own.
import { afterAll } from '@jest/globals';
import { Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  JobHandler,
  JobQueueModule,
  JobQueueService,
  OnJobEvent,
  type Job,
  type WorkerEvent,
} from 'nest-job-queue';
import { queueOn } from '../support/queue-state.js';
import { uniqueQueueName } from '../support/redis.js';
import { Play } from './play.js';
import { definitionOf, type Row } from './rows.js';
import type { Driver, Stage } from './scene.js';
import { server, serverUrl } from './server.js';

const SHUT_DOWN = 'a shutdown gives it back';
const open = new Set<INestApplicationContext>();
afterAll(async () => {
  await Promise.all([...open].map((app) => app.close()));
});

/** A driver whose app serves one queue for each of these cells; those of others have no worker. */
export function nestDriver(cells: readonly { row: Row; cell: string }[] = []): Driver {
  const names = new Map(cells.map(({ cell }, i) => [cell, uniqueQueueName(`cell-${i}`)]));
  const plays = new Map([...names.values()].map((name) => [name, new Play()]));
  let shared: Promise<INestApplicationContext> | undefined;
  const served = cells.filter(({ cell }) => !cell.endsWith(SHUT_DOWN));

  return {
    name: 'the Nest module',
    open: async (row, cell) => {
      const name = names.get(cell) ?? uniqueQueueName('cell');
      const play = plays.get(name) ?? new Play();
      const jobs = (
        await (shared ??= boot(
          served.map((each) => [names.get(each.cell)!, each.row]),
          plays,
        ))
      ).get(JobQueueService);
      const own = cell.endsWith(SHUT_DOWN) ? await boot([[name, row]], plays) : undefined;
      return stageOf(name, row, play, jobs, own);
    },
  };
}

function stageOf(
  name: string,
  row: Row,
  play: Play,
  jobs: JobQueueService,
  own: INestApplicationContext | undefined,
): Stage {
  const queue = jobs.queue(name);
  const state = queueOn(server(), {}, name);
  const subject = row.typed ? definitionOf(name) : name;
  return {
    queue,
    state,
    deadLetters: jobs.deadLetters(subject),
    schedules: {
      upsert: (...args) => jobs.schedules.upsert(subject, ...args),
      runNow: (id) => jobs.schedules.runNow(subject, id),
    },
    enqueue: (payload, options, typed) =>
      typed ? jobs.enqueue(definitionOf(name), payload, options) : jobs.enqueue(name, payload, options),
    pause: () => jobs.pause(subject),
    resume: () => jobs.resume(subject),
    cancel: (id) => jobs.cancel(subject, id),
    ...play.verbs(queue, state),
    keepWaiting: () => jobs.pauseWorker(name),
    running: async () => {
      await play.started.promise;
      await jobs.pause(subject);
    },
    shutDown: async () => {
      open.delete(own!);
      await own!.close();
      await play.until('released');
    },
  };
}

async function boot(
  queues: [name: string, row: Row][],
  plays: Map<string, Play>,
): Promise<INestApplicationContext> {
  class Handlers {
    run(job: Job): Promise<unknown> {
      return plays.get(job.queue)!.handle(job);
    }

    @OnJobEvent(['completed', 'retry', 'failed', 'cancelled', 'released', 'lost'])
    ended(event: WorkerEvent): void {
      plays.get(event.job.queue)!.tell(event);
    }
  }
  const method = Object.getOwnPropertyDescriptor(Handlers.prototype, 'run')!;
  for (const [name, row] of queues) {
    const options = { ...row.handler, concurrency: 1, visibilityMs: 300 };
    const decorate = row.typed ? JobHandler(definitionOf(name), options) : JobHandler(name, options);
    (decorate as MethodDecorator)(Handlers.prototype, 'run', method);
  }
  const redis = serverUrl();

  @Module({ imports: [JobQueueModule.forRoot({ redis, shutdownTimeoutMs: 200 })], providers: [Handlers] })
  class CellsModule {}
  const app = await NestFactory.createApplicationContext(CellsModule, { logger: false });
  open.add(app);
  return app;
}
