import type { AnnouncedContent } from '../../queue/codec/announced-content.js';
import { ANY_PAYLOAD, codecOf, decodeContent, type CodecError, type JobCodec } from '../../queue/codec/codec.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobStatus } from '../../queue/model/job.js';

/** The checked places, with the number of jobs to read in each. */
const PLACES: readonly JobStatus[] = ['pending', 'scheduled', 'failed'];
const LOOKS = 3;

const REMEDY = 'Give all processes of the queue the same codec and keys.';

/** Returns the warnings about a queue's codec: workers have another one, or this process cannot read jobs. */
export async function auditCodec(queue: JobQueue): Promise<string[]> {
  const found = await Promise.all([auditWorkers(queue), auditJobs(queue)]);
  return found.filter((warning) => warning !== undefined);
}

/** Compares the codec and its keys with those of the last announced worker. */
async function auditWorkers(queue: JobQueue): Promise<string | undefined> {
  const announced = await queue.exec((calls) => calls.content());
  const own = queue.options.codec;
  if (!announced) {
    return undefined;
  }
  const difference =
    announced.codec === own?.name ? auditKeys(announced.keyIds, own?.keyIds) : auditNames(announced, own);
  return difference && `Queue "${queue.name}" was last served by a worker with ${difference} ${REMEDY}`;
}

function auditNames({ codec }: AnnouncedContent, own: JobCodec | undefined): string {
  return (
    `${inWords(codec)}, and this process has ${inWords(own?.name)}. ` +
    'What one of them stores, the other may not read: such jobs become dead letters with a CodecError.'
  );
}

/**
 * Compares the keys. The first key of a list encrypts, all of them decrypt, so each process needs the other's first.
 */
function auditKeys(theirs: readonly string[] = [], own: readonly string[] = []): string | undefined {
  const unknown = theirs.slice(0, 1).filter((id) => !own.includes(id));
  const unknownThere = own.slice(0, 1).filter((id) => !theirs.includes(id));
  if (theirs.length === 0 || unknown.length + unknownThere.length === 0) {
    return undefined;
  }
  const [reader, key] = unknown.length > 0 ? ['this process', unknown[0]!] : ['that worker', unknownThere[0]!];
  return (
    `the keys ${theirs.join(', ')}, and this process has ${own.join(', ')}. ` +
    `Jobs encrypted by the key ${key} become dead letters with a CodecError where ${reader} runs them.`
  );
}

function inWords(codec: string | undefined): string {
  return codec === undefined ? 'no codec' : `the codec "${codec}"`;
}

/** Reads a few jobs of a queue. Returns a warning if this process cannot read one of them; undefined if it reads all. */
async function auditJobs(queue: JobQueue): Promise<string | undefined> {
  const pages = await Promise.all(PLACES.map((status) => queue.list(status, { limit: LOOKS })));
  const unreadable = pages.flat().find(({ payload }) => codecOf(payload) !== undefined);
  if (!unreadable) {
    return undefined;
  }
  try {
    decodeContent(queue.options.codec, unreadable.payload, 'payload', {
      queue: queue.name,
      id: unreadable.id,
      payloadId: ANY_PAYLOAD,
    });
    return undefined;
  } catch (error) {
    return (
      `Queue "${queue.name}" has jobs that this process cannot read, such as ${unreadable.id}: ${(error as CodecError).message} ` +
      `Handlers here would fail them. ${REMEDY}`
    );
  }
}
