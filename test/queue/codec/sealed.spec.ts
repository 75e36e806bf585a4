// No verb stores a text of an encrypted queue in the clear. The verbs and their texts are read from the types of the calls.
import { createRequire } from 'node:module';
import { randomBytes } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type TypeScript from 'typescript';
import { encrypted, type Job, JobQueue } from 'nest-job-queue/core';
import { decodeContent } from '#queue/codec/codec.js';
import { asStored, sealFailure, sealJson, type SealedVerb } from '#queue/codec/sealed.js';
import { encodeJob } from '#queue/enqueue/encode-job.js';
import { maintainBatches } from '#queue/operate/maintain-batches.js';
import { RedisStore } from '#queue/redis-store.js';
import type { StoreCalls } from '#queue/store/store-calls.js';
import { connect } from '../../support/redis/redis.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { eventually, gate } from '../../support/faults/wait.js';
import { startWorker } from '../../support/worker/workers.js';

const CANARY = 'CANARY of DE89 3704';
const HAS_CANARY = /canary/i;

/** What names a job and its ties. It is chosen by the app, which docs/encryption.md tells to put no secrets there. */
const JOB = 'id name group metadata after batch addedBy request payloadId afterRefusal';
const CLAIM = 'id token';
const END = 'queue batch id number state';

/**
 * The texts that are stored as they are, of each verb: ids, names, keys, times, and what the library made. A verb that is not
 * here has sealed texts alone.
 */
const READABLE: Readonly<Record<string, string>> = {
  enqueue: `${JOB} key queue`,
  checkEnqueue: `${JOB} key queue`,
  claim: 'token worker stream name',
  extendBatch: 'worker stream token',
  start: CLAIM,
  extend: CLAIM,
  noteDeath: CLAIM,
  complete: CLAIM,
  progress: CLAIM,
  checkpoint: CLAIM,
  step: `${CLAIM} name`,
  log: CLAIM,
  fail: `${CLAIM} kind`,
  release: `${CLAIM} name message`, // the message of a refusal by this library
  setName: `${CLAIM} name metadata member batch group payloadId`,
  get: 'id',
  outcome: 'id',
  find: 'name metadata',
  cancel: 'id',
  cancelAndReturn: 'id request',
  reschedule: 'id',
  remove: 'id',
  holdResult: 'id',
  promote: 'id',
  update: 'id name',
  setPriority: 'id',
  runAgain: 'id request',
  pause: 'by reason', // the words of an operator
  unserved: 'id name',
  publish: 'id name',
  'sweep.hold': 'set process key',
  'sweep.reclaimWorker': 'worker cursor',
  'sweep.adoptFailed': 'ids',
  'sweep.lookAtKept': 'read',
  'workers.register': 'worker name',
  'workers.describe': 'worker host app version fleet id name',
  'workers.passWake': 'worker',
  'deadLetters.list': 'name error kind at id', // a search is not stored
  'deadLetters.discard': 'id at',
  'deadLetters.redrive': 'ids',
  'deadLetters.redriveAsNew': 'id newId',
  'schedules.upsert': `${JOB} key version cron timeZone worker`,
  'schedules.declare': 'worker id version',
  'schedules.tick': 'id version recurrence',
  'schedules.run': 'id jobId',
  'schedules.pause': 'id',
  'schedules.resume': 'id version',
  'schedules.remove': 'id',
  'schedules.get': 'id',
  'batches.create': `${JOB} key queue`,
  'batches.join': 'id members member token',
  'batches.known': 'id members member token',
  'batches.readers': 'ids',
  'batches.seal': 'id',
  'batches.stop': 'id',
  'batches.status': 'id',
  'batches.results': 'id',
  'batches.outbox': 'except',
  'batches.deliver': `from ${END}`,
  'batches.acknowledge': END,
  'batches.followUps': END,
  'batches.ends': 'home batch id',
  'batches.depend': 'home id waiting',
  'batches.cancel': 'ids',
  'history.addDurations': 'worker batch counts',
  'history.closeMinute': 'version',
  'history.reportVersion': 'version',
  'history.read': 'after',
  'audit.read': 'after',
  'audit.take': 'group consumer',
  'audit.acknowledge': 'group entryIds',
  'actions.note': 'of id action subject by', // the words of noted-action.ts
  'actions.read': 'before',
  'groups.named': 'names',
  'groups.set': 'name',
  'groups.clear': 'name',
  'groups.pause': 'name by reason', // the words of an operator
  'groups.extendPause': 'name',
  'groups.resume': 'name',
  'groups.clean': 'name',
  'once.enqueue': `source key queue ${JOB}`,
  'once.addDeadLetters': `source key queue kind ${JOB}`,
  'once.forget': 'source keys',
  'once.marks': 'source',
  'alerts.takeTurn': 'token',
  'alerts.told': 'token record', // the fingerprints of alerts
};

/** Reads the texts of the arguments of each verb from the types. */
function textsOfCalls(): { sealed: Set<string>; plain: Map<string, Set<string>> } {
  const ts = createRequire(import.meta.url)('typescript') as typeof TypeScript;
  const path = fileURLToPath(import.meta.resolve('#queue/store/store-calls.js')).replace(/\.js$/, '.ts');
  const program = ts.createProgram([path], {
    strict: true,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    skipLibCheck: true,
    types: [],
    lib: ['lib.es2023.d.ts'],
  });
  const checker = program.getTypeChecker();
  const [declared] = program
    .getSourceFile(path)!
    .statements.filter((each) => ts.isInterfaceDeclaration(each) && each.name.text === 'StoreCalls');
  const typeOf = (symbol: TypeScript.Symbol) => checker.getTypeOfSymbolAtLocation(symbol, declared!);
  const sealed = new Set<string>();
  const plain = new Map<string, Set<string>>();
  const walk = (verb: string, name: string, type: TypeScript.Type, seen: readonly TypeScript.Type[]): void => {
    const properties = type.getProperties();
    if (type.isUnion()) {
      type.types.forEach((each) => walk(verb, name, each, seen));
    } else if (type.isIntersection() && properties.some((each) => each.name.startsWith('__@SEALED'))) {
      sealed.add(verb);
    } else if ((type.flags & ts.TypeFlags.String) !== 0) {
      plain.set(verb, (plain.get(verb) ?? new Set()).add(name));
    } else if ((type.flags & ts.TypeFlags.Object) !== 0 || type.isIntersection()) {
      if (seen.includes(type) || type.getCallSignatures().length > 0) return;
      const inner = [...seen, type];
      if (checker.isArrayType(type) || checker.isTupleType(type)) {
        const items = checker.getTypeArguments(type as TypeScript.TypeReference);
        items.forEach((each) => walk(verb, name, each, inner));
        return;
      }
      const indexed = type.getStringIndexType();
      if (indexed) walk(verb, name, indexed, inner);
      properties.forEach((each) => walk(verb, each.name, typeOf(each), inner));
    }
  };
  const calls = (of: TypeScript.Type, prefix: string): void => {
    for (const property of of.getProperties()) {
      const type = typeOf(property);
      const signatures = type.getCallSignatures();
      if (signatures.length === 0 && !['options', 'key', 'announced'].includes(property.name))
        calls(type, `${property.name}.`);
      for (const parameter of signatures.flatMap(({ parameters }) => parameters)) {
        walk(prefix + property.name, parameter.name, typeOf(parameter), []);
      }
    }
  };
  calls(checker.getTypeAtLocation(declared!), '');
  return { sealed, plain };
}

// @ts-expect-error a plain text is no sealed one
export const refused = (of: StoreCalls, text: string) => of.update({ id: 'a', payload: text });
// @ts-expect-error nor is one that this process has made a stored one
export const refusedAsStored = (text: string) => asStored(text);
// @ts-expect-error even behind a choice
export const refusedAsEither = (text: string | undefined) => asStored(text);
export const takesRows = (row: Record<string, unknown>) => asStored(row['payload']);

describe('the types of the calls', () => {
  const { sealed, plain } = textsOfCalls();

  it('have each text sealed, or named as readable for its verb', () => {
    const texts = [...plain].map(([verb, names]) => [verb, [...names].toSorted().join(' ')]);
    const readable = Object.entries(READABLE).map(([verb, names]) => [verb, names.split(' ').toSorted().join(' ')]);
    expect(Object.fromEntries(texts)).toEqual(Object.fromEntries(readable));
  });

  it('name the verbs that the canary goes through', () => {
    expect([...sealed].toSorted()).toEqual(Object.keys(LIFE).toSorted());
  });
});

/** The queues of the canary's life. */
interface World {
  queue: JobQueue;
  /** Another queue of the same key, for batches over two queues. */
  other: JobQueue;
  codec: ReturnType<typeof encrypted>;
}

let world: World;
const called = new Set<string>();
const seen: string[] = [];
let read: () => Promise<void>;

/** Returns the same calls, which note their verbs. */
function noted<Calls extends object>(calls: Calls, prefix = ''): Calls {
  const entries = Object.entries(calls).map(([verb, call]: [string, unknown]) => {
    if (typeof call === 'function') {
      const of = call as (...args: unknown[]) => unknown;
      return [verb, (...args: unknown[]) => (called.add(prefix + verb), of(...args))];
    }
    const isGroup =
      prefix === '' &&
      typeof call === 'object' &&
      call !== null &&
      !['options', 'keys', 'announced'].includes(verb);
    return [verb, isGroup && !Array.isArray(call) ? noted(call, `${verb}.`) : call];
  });
  return Object.fromEntries(entries) as Calls;
}

/** Fails with the payload in every part of its error, after it wrote the payload wherever a handler can. */
async function quote(job: Job): Promise<unknown> {
  await job.log(`line of ${CANARY}`);
  await job.progress({ at: CANARY });
  await job.checkpoint({ at: CANARY });
  await job.step('look up', () => CANARY);
  if (JSON.stringify(job.payload).includes('fails')) {
    throw Object.assign(new Error(`for ${CANARY}`, { cause: new Error(CANARY) }), { name: `Error of ${CANARY}` });
  }
  return { of: CANARY };
}

async function dead({ queue }: World): Promise<string> {
  const job = await queue.enqueue({ fails: CANARY }, { maxAttempts: 1 });
  await expect(job.result()).rejects.toThrow();
  return job.id;
}

async function complete({ queue }: World): Promise<void> {
  await (await queue.enqueue({ to: CANARY })).result();
}

/** Makes a batch here with members in both queues, and a follow-up in the other one. */
async function batch({ queue, other }: World): Promise<void> {
  const follow = { name: other.name, queue: other.name, payload: { to: CANARY } };
  const made = queue.batch({ finally: follow, then: { name: queue.name, payload: { to: CANARY } } });
  const member = await made.add(other.name, { to: CANARY }, { queue: other });
  await made.add(queue.name, { fails: CANARY }, { maxAttempts: 1 });
  await made.seal();
  await member.result();
  await maintainBatches(other);
  await maintainBatches(queue);
  await eventually(async () => (await made.status()).state !== 'sealed');
  await maintainBatches(queue);
}

/** The way of the canary through each verb that has a sealed text. */
const LIFE: Record<SealedVerb<StoreCalls>, (world: World) => Promise<unknown>> = {
  enqueue: ({ queue }) => queue.enqueue({ to: CANARY }, { delayMs: 3_600_000 }),
  checkEnqueue: async ({ queue }) => {
    const { id } = await queue.enqueue({ to: CANARY }, { delayMs: 3_600_000 });
    await queue.enqueueMany(Array.from({ length: 501 }, () => ({ payload: { to: CANARY }, after: [id] })));
  },
  complete,
  progress: complete,
  checkpoint: complete,
  step: complete,
  log: complete,
  fail: dead,
  noteDeath: async ({ queue }) => {
    const crashing = new JobQueue(connect({}, url), queue.name, { codec: world.codec });
    const [begun, end] = [gate(), gate()];
    const { worker } = await startWorker([
      { queue: crashing, handlers: { dies: () => (begun.open(), end.promise) } },
    ]);
    const { id } = await crashing.enqueue({ to: CANARY }, { name: 'dies' });
    await begun.promise;
    const error = Object.assign(new Error(`for ${CANARY}`), { name: `Error of ${CANARY}` });
    (process as EventEmitter).emit('uncaughtExceptionMonitor', error, 'uncaughtException');
    const death = () => connect({}, url).hget(`queue:${queue.name}:job:${id}`, 'death');
    await eventually(async () => (await death()) !== null);
    end.open();
    await worker.stop();
  },
  update: async ({ queue }) => {
    const { id } = await queue.enqueue(1, { delayMs: 3_600_000 });
    expect(await queue.update(id, { to: CANARY })).toBe('updated');
  },
  'deadLetters.redrive': async (of) => {
    expect(await of.queue.deadLetters.redrive(await dead(of), { payload: { to: CANARY } })).toBe(true);
  },
  'deadLetters.redriveAsNew': async (of) => {
    await of.queue.deadLetters.redriveAsNew(await dead(of), { payload: { to: CANARY } });
  },
  'schedules.upsert': ({ queue }) => queue.schedules.upsert('s', { everyMs: 1e7 }, { payload: { to: CANARY } }),
  'batches.create': batch,
  'batches.deliver': batch,
  'batches.acknowledge': batch,
  'batches.followUps': batch,
  'once.enqueue': batch,
  'once.addDeadLetters': ({ queue, codec }) => {
    const job = encodeJob(queue, { to: CANARY }, { id: 'moved' });
    const { error } = sealFailure(codec, queue.name, { id: 'moved', error: { name: 'Error', message: CANARY } });
    const ran = { attempts: 1, errors: 1, crashes: 0 };
    const moved = { key: 'k', job, ran, failure: { error, startedAt: 1, endedAt: 2 } };
    return queue.exec(({ once }) => once.addDeadLetters({ source: 's', fence: 1 }, [moved]));
  },
};

const { callsOf } = RedisStore.prototype;
let url: string;

beforeAll(async () => {
  const redis = await startOwnRedis();
  ({ url } = redis);
  RedisStore.prototype.callsOf = function (...args) {
    return noted(callsOf.apply(this, args));
  };
  const monitor = await connect({}, url).monitor();
  monitor.on('monitor', (_time: string, args: string[]) => seen.push(args.join(' ')));
  const client = connect({}, url);
  read = async () => {
    const end = await client.echo(`end ${randomBytes(8).toString('hex')}`);
    await eventually(() => seen.some((line) => line.includes(end)));
  };
  const codec = encrypted([{ id: 'k', key: randomBytes(32) }]);
  const options = {
    codec,
    auditTrail: {},
    outcomes: {},
    events: 'always',
    eventExtras: { results: true },
  } as const;
  const [queue, other] = ['home', 'other'].map((name) => new JobQueue(client, name, options)) as [
    JobQueue,
    JobQueue,
  ];
  world = { queue, other, codec };
});

beforeEach(async () => {
  const { queue, other } = world;
  await startWorker([
    { queue, handlers: { home: quote }, onFailed: { home: () => undefined } },
    { queue: other, handlers: { other: quote } },
  ]);
});

afterAll(() => {
  RedisStore.prototype.callsOf = callsOf;
});

describe('a canary in an encrypted queue', () => {
  it.each(Object.entries(LIFE))('%s', async (verb, live) => {
    called.clear();
    await live(world);
    await eventually(() => called.has(verb));
    await read();
    expect(seen.filter((line) => HAS_CANARY.test(line))).toEqual([]);
    expect(seen.length).toBeGreaterThan(0);
  });

  it('is sealed where a job of another library moves here', () => {
    const owner = { queue: 'home', id: 'a' };
    expect(sealJson({}, '{"big": 12345678901234567890}', owner)).toBe('{"big": 12345678901234567890}');
    const payload = JSON.parse(sealJson(world, `{"to":"${CANARY}"}`, owner)) as unknown;
    expect(JSON.stringify(payload)).not.toMatch(HAS_CANARY);
    expect(decodeContent(world.codec, payload, 'payload', owner)).toEqual({ to: CANARY });
  });

  it('is in the clear where nothing is encrypted', async () => {
    await new JobQueue(connect({}, url), 'plain').enqueue({ to: CANARY });
    await read();
    expect(seen.some((line) => HAS_CANARY.test(line))).toBe(true);
  });

  it('is not told by the version of a schedule, which depends on the key', async () => {
    const [one, two] = await Promise.all(
      ['one', 'two'].map(async (name) => {
        const queue = new JobQueue(connect({}, url), name, {
          codec: encrypted([{ id: 'k', key: randomBytes(32) }]),
        });
        await queue.schedules.upsert('s', { everyMs: 1e7 }, { name: 'n', payload: { to: CANARY } });
        return connect({}, url).hget(`queue:${name}:schedule:s`, 'version');
      }),
    );
    expect(one).toMatch(/^[\w-]{43}$/);
    expect(one).not.toBe(two);
  });
});
