// What the compiler knows of a definition. Nothing here runs: `npm run typecheck` fails where a line that must not
// compile does, or the other way round.
import { Injectable } from '@nestjs/common';
import {
  defineHandler,
  defineJob,
  type EnqueueOptions,
  Job,
  JobHandler,
  JobQueue,
  JobQueueService,
  type PayloadInput,
  type PayloadOf,
  type ResultInput,
  type ResultOf,
  type Schedules,
  type WorkerEvent,
} from 'nest-job-queue';
import { z } from 'zod';

const SendEmail = defineJob('email', {
  payload: z.object({ to: z.string(), at: z.coerce.date<string | Date>().optional() }),
  result: z.object({ messageId: z.string() }),
  maxAttempts: 5,
});
const Ping = defineJob('ping', { payload: z.null() });

/** True for the same type; unknown and any are not the same as anything else. */
type Equal<A, B> = [A, unknown extends A ? 1 : 2] extends [B, unknown extends B ? 1 : 2]
  ? [B] extends [A]
    ? true
    : false
  : false;
type Held<Claim extends true> = Claim;
type ResultOfHandle<Handle extends { result(): unknown }> = Awaited<ReturnType<Handle['result']>>;

export type Claims = [
  Held<Equal<PayloadInput<typeof SendEmail>['at'], string | Date | undefined>>,
  Held<Equal<PayloadOf<typeof SendEmail>['at'], Date | undefined>>,
  Held<Equal<ResultInput<typeof SendEmail>, { messageId: string }>>,
  Held<Equal<ResultOf<typeof SendEmail>, { messageId: string }>>,
  Held<Equal<ResultOf<typeof Ping>, unknown>>,
];

export async function recurs(jobs: JobQueueService, schedules: Schedules) {
  const daily = { everyMs: 86_400_000 };
  await jobs.schedules.upsert(SendEmail, 'daily', daily, { payload: { to: 'ada', at: '2030-01-01' }, priority: 1 });
  await jobs.schedules.upsert('email', 'daily', daily, { payload: { to: 5 } });
  await schedules.upsert('daily', daily, { definition: SendEmail, payload: { to: 'ada' }, priority: 1 });

  // @ts-expect-error a wrong field
  await jobs.schedules.upsert(SendEmail, 'daily', daily, { payload: { to: 5 } });
  // @ts-expect-error a missing one
  await jobs.schedules.upsert(SendEmail, 'daily', daily, { priority: 1 });
  // @ts-expect-error a wrong field
  await schedules.upsert('daily', daily, { definition: SendEmail, payload: { to: 5 } });
  // @ts-expect-error the definition has its name
  await schedules.upsert('daily', daily, { definition: SendEmail, payload: { to: 'ada' }, name: 'other' });
}

const Chat = defineJob('chat', { payload: z.null(), result: z.null(), chunk: z.object({ word: z.string() }) });

export async function streams(jobs: JobQueueService, queue: JobQueue) {
  for await (const item of jobs.stream(Chat, 'id')) if (item.type === 'chunk') item.data.word.trim();
  for await (const item of (await jobs.enqueue(Chat, null)).stream())
    if (item.type === 'chunk') item.data.word.trim();
  for await (const item of (await queue.enqueue(Chat, null)).stream())
    if (item.type === 'chunk') item.data.word.trim();
  for await (const item of jobs.stream<string>('chat', 'id')) if (item.type === 'chunk') item.data.trim();
  defineHandler(Chat, async (job) => {
    await job.stream.write({ word: 'a' });
    // @ts-expect-error a wrong field
    await job.stream.write({ word: 1 });
    return null;
  });
  defineHandler(Chat, async function* () {
    yield { word: 'a' };
    return null;
  });
  // @ts-expect-error another field
  for await (const item of jobs.stream(Chat, 'id')) if (item.type === 'chunk') item.data.text.trim();
  // @ts-expect-error a wrong chunk
  defineHandler(Chat, async function* () {
    yield { word: 1 };
    return null;
  });
}

const Report = defineJob('report', { payload: z.object({ batchId: z.string() }) });

export function follows(jobs: JobQueueService, queue: JobQueue) {
  jobs.batch({ then: { definition: SendEmail, payload: { to: 'ada', at: '2030-01-01' }, priority: 1 } });
  jobs.batch({ then: { definition: Report }, onFailure: { definition: SendEmail, payload: { to: 'ada' } } });
  jobs.batch({ then: { name: 'email', payload: { to: 5 } }, finally: { name: 'report' } });
  queue.batch({ finally: { definition: SendEmail, payload: { to: 'ada' }, delayMs: 5 } });
  queue.batch();

  // @ts-expect-error a wrong field
  jobs.batch({ then: { definition: SendEmail, payload: { to: 5 } } });
  // @ts-expect-error a missing payload, because the schema takes no { batchId }
  jobs.batch({ then: { definition: Report }, onFailure: { definition: SendEmail } });
  // @ts-expect-error the definition has its name
  jobs.batch({ then: { definition: SendEmail, payload: { to: 'ada' }, name: 'other' } });
  // @ts-expect-error a wrong field
  queue.batch({ finally: { definition: SendEmail, payload: { to: 5 } } });
}

export async function enqueues(jobs: JobQueueService, queue: JobQueue) {
  const email = await jobs.enqueue(SendEmail, { to: 'ada', at: '2030-01-01' }, { delayMs: 5 });
  const emailFits: Equal<ResultOfHandle<typeof email>, { messageId: string }> = true;
  const same = await queue.enqueue(SendEmail, { to: 'ada' }, { delayMs: 5 });
  const sameFits: Equal<ResultOfHandle<typeof same>, { messageId: string }> = true;
  const [many] = await jobs.enqueueMany(SendEmail, [{ payload: { to: 'ada' }, priority: 1 }]);
  const manyFits: Equal<ResultOfHandle<NonNullable<typeof many>>, { messageId: string }> = true;

  // @ts-expect-error a wrong field
  await jobs.enqueue(SendEmail, { to: 5 });
  // @ts-expect-error a missing one
  await jobs.enqueue(SendEmail, {});
  // @ts-expect-error the definition has its name
  await jobs.enqueue(SendEmail, { to: 'ada' }, { name: 'other' });
  // @ts-expect-error a wrong field
  await jobs.enqueueMany(SendEmail, [{ payload: { to: 5 } }]);
  // @ts-expect-error a wrong field
  await queue.enqueue(SendEmail, { to: 5 });
  // @ts-expect-error a missing one, which must not be taken for options
  await queue.enqueue(SendEmail, {});
  // @ts-expect-error a wrong field
  await queue.enqueueMany(SendEmail, [{ payload: { to: 5 } }]);

  // A name still takes anything.
  const named = await jobs.enqueue<{ ok: boolean }>('email', { anything: 1 });
  const namedFits: Equal<ResultOfHandle<typeof named>, { ok: boolean }> = true;
  const plain = await queue.enqueue<{ ok: boolean }>({ anything: 1 });
  const plainFits: Equal<ResultOfHandle<typeof plain>, { ok: boolean }> = true;
  const unknown: unknown = 1;
  await queue.enqueue(unknown);
  return [emailFits, sameFits, manyFits, namedFits, plainFits];
}

export async function starts(jobs: JobQueueService, queue: JobQueue, options: EnqueueOptions, isLate: boolean) {
  const runAt = new Date();
  await jobs.enqueue('email', {}, { delayMs: 5 });
  await jobs.enqueue('email', {}, isLate ? { runAt } : { delayMs: 5 });
  await queue.enqueue({}, { ...options, priority: 1 });
  const built: EnqueueOptions = {};
  if (isLate) built.runAt = runAt;
  else built.delayMs = 5;
  await queue.enqueue({}, built);

  // @ts-expect-error both
  await jobs.enqueue('email', {}, { delayMs: 5, runAt });
  // @ts-expect-error both
  await jobs.enqueue(SendEmail, { to: 'ada' }, { delayMs: 5, runAt });
  // @ts-expect-error both
  await jobs.enqueueMany('email', [{ payload: {}, delayMs: 5, runAt }]);
  // @ts-expect-error both
  await jobs.enqueueMany([{ job: 'email', payload: {}, delayMs: 5, runAt }]);
  // @ts-expect-error both
  await queue.enqueue({}, { delayMs: 5, runAt });
  // @ts-expect-error both
  await queue.enqueue(SendEmail, { to: 'ada' }, { delayMs: 5, runAt });
  // @ts-expect-error both
  await queue.enqueueMany([{ payload: {}, delayMs: 5, runAt }]);
  // @ts-expect-error both
  await jobs.batch({}).add('email', {}, { delayMs: 5, runAt });
  // @ts-expect-error both
  await queue.batch().addMany([{ payload: {}, delayMs: 5, runAt }]);
}

export async function reads(jobs: JobQueueService, queue: JobQueue) {
  const result = await jobs.result(SendEmail, 'id', { timeoutMs: 5 });
  const resultFits: Equal<typeof result, { messageId: string }> = true;
  const email = (await jobs.get(SendEmail, 'id'))!;
  const payloadFits: Equal<typeof email.payload.at, string | Date | undefined> = true;
  const storedFits: Equal<NonNullable<typeof email.result>, { messageId: string }> = true;
  const named = await jobs.result<{ ok: boolean }>('email', 'id');
  const namedFits: Equal<typeof named, { ok: boolean }> = true;
  const record = (await jobs.get<{ to: string }>('email', 'id'))!;
  const recordFits: Equal<typeof record.payload, { to: string }> = true;
  await jobs.cancel(SendEmail, 'id');
  await jobs.queue(SendEmail).deadLetters.redrive(SendEmail, 'id', { payload: { to: 'ada' } });
  // @ts-expect-error a wrong field
  await queue.deadLetters.redrive(SendEmail, 'id', { payload: { to: 5 } });
  // @ts-expect-error the definition goes first
  await jobs.result('id', SendEmail);
  return [resultFits, payloadFits, storedFits, namedFits, recordFits];
}

@JobHandler(SendEmail, { concurrency: 5 })
export class Fits {
  handle(job: Job<PayloadOf<typeof SendEmail>>) {
    return { messageId: job.payload.to };
  }
}

@JobHandler(SendEmail)
export class FitsLater {
  async handle(job: Job<{ to: string }>) {
    return Promise.resolve({ messageId: job.payload.to });
  }
}

// @ts-expect-error the payload has no such field
@JobHandler(SendEmail)
export class WrongPayload {
  handle(job: Job<{ from: string }>) {
    return { messageId: job.payload.from };
  }
}

// @ts-expect-error the result is another
@JobHandler(SendEmail)
export class WrongResult {
  handle(_job: Job<PayloadOf<typeof SendEmail>>) {
    return { messageId: 5 };
  }
}

// @ts-expect-error there is no handle
@JobHandler(SendEmail)
export class NoHandle {}

@Injectable()
export class Methods {
  @JobHandler(SendEmail)
  fits({ payload }: Job<PayloadOf<typeof SendEmail>>) {
    return { messageId: payload.to };
  }

  // @ts-expect-error the result is missing
  @JobHandler(SendEmail)
  forgets(_job: Job<PayloadOf<typeof SendEmail>>) {}

  @JobHandler(Ping)
  anyResult() {
    return 'pong';
  }
}

defineHandler(SendEmail, ({ payload }) => ({ messageId: payload.to }));
// @ts-expect-error the result is another
defineHandler(SendEmail, ({ payload }) => payload.to);
// @ts-expect-error a schema is wanted
defineJob('email', { payload: { to: 'string' } });
// @ts-expect-error no such default
defineJob('email', { payload: z.null(), maxAttemps: 5 });

/** An event of a worker has the payload that its listener names. */
export type EventClaim = Held<Equal<WorkerEvent<{ to: string }>['job']['payload'], { to: string }>>;
