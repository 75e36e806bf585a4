// The rule below every window: a process without the key stores nothing in the clear in an encrypted queue.
import { codecOf, type JobCodec } from '../codec/codec.js';
import { parseJson } from '../codec/stored-value.js';
import type { SealedVerb } from '../codec/sealed.js';
import type { StoreCalls } from './store-calls.js';
import type { DeadEntry, OnceEntry, OnceSender } from '../verbs/once.js';

/**
 * Whose content a verb stores. A worker's codec has read the content of a claim. Content as stored was sealed before.
 * Entries may be of other processes, such as rows of a database: each tells by itself whether it is sealed.
 */
type Origin = 'none' | 'as stored' | 'of a claim' | 'of entries' | HasContent;

/** Returns whether the arguments of a verb have content of the caller. */
type HasContent = (...args: readonly never[]) => boolean;

/** The verbs that take a sealed text, each with whose content it is. */
const ORIGINS: Readonly<Record<SealedVerb<StoreCalls>, Origin>> = {
  enqueue: () => true,
  checkEnqueue: 'none',
  update: () => true,
  signal: ({ data }: { data: string }) => data !== '',
  'deadLetters.redrive': ({ payload }: { payload?: string }) => payload !== undefined,
  'deadLetters.redriveAsNew': ({ payload }: { payload?: string }) => payload !== undefined,
  'schedules.upsert': () => true,
  'batches.create': ({ followUps }: { followUps: readonly unknown[] }) => followUps.length > 0,
  'once.enqueue': 'of entries',
  'once.addDeadLetters': 'of entries',
  'batches.deliver': 'as stored',
  'batches.acknowledge': 'as stored',
  'batches.followUps': 'as stored',
  complete: 'of a claim',
  fail: 'of a claim',
  noteDeath: 'of a claim',
  progress: 'of a claim',
  checkpoint: 'of a claim',
  step: 'of a claim',
  log: 'of a claim',
  'streams.write': 'of a claim',
};

type VerbCall = (...args: never[]) => unknown;

/**
 * Returns the calls of a queue. They tell of each call that would store content in the clear, before it is sent.
 *
 * @param codec that of this process. A secret one has sealed all but entries
 * @param onContent may throw
 */
export function watchContent(calls: StoreCalls, codec: JobCodec | undefined, onContent: () => void): StoreCalls {
  const watched = Object.create(calls) as StoreCalls;
  const byName = watched as object as Record<string, unknown>;
  for (const [path, origin] of Object.entries(ORIGINS)) {
    const ofCaller = codec?.secret ? undefined : origin;
    const has = origin === 'of entries' ? plainEntries(calls, codec) : ofCaller;
    if (typeof has !== 'function') {
      continue;
    }
    const [verb, room] = path.split('.').toReversed() as [string, string?];
    const into = room === undefined ? byName : ownRoom(byName, room);
    const send = into[verb] as VerbCall;
    into[verb] = (...args: never[]) => {
      if (has(...args)) {
        onContent();
      }
      return Reflect.apply(send, into, args);
    };
  }
  return watched;
}

/** Returns the verbs of a room, such as `deadLetters`, of these calls alone. */
function ownRoom(watched: Record<string, unknown>, room: string): Record<string, unknown> {
  if (!Object.hasOwn(watched, room)) {
    watched[room] = Object.create(watched[room] as object) as object;
  }
  return watched[room] as Record<string, unknown>;
}

/**
 * Returns whether entries are in the clear: no codec wrote their payload, or another one than the queue's. Follow-ups of
 * batches are as the Redis of another queue has them.
 */
function plainEntries({ announced }: StoreCalls, codec: JobCodec | undefined): HasContent {
  return ({ sender, entries }: { sender: OnceSender; entries: readonly (OnceEntry | DeadEntry)[] }) =>
    !sender.isUnbounded &&
    entries.some(({ job }) => {
      const name = codecOf(parseJson(job.payload).value);
      return name === undefined || (name !== announced.content?.codec && !(codec?.secret && name === codec.name));
    });
}
