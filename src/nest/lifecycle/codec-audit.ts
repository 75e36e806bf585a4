import { codecOf, decodeContent, type CodecError } from '../../queue/codec/codec.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobStatus } from '../../queue/model/job.js';

/** Where jobs are looked at, and how many in each place. */
const PLACES: readonly JobStatus[] = ['pending', 'scheduled', 'failed'];
const LOOKS = 3;

const REMEDY = 'Give all processes of the queue the same codec and keys.';

/** Returns what there is to say of the codec of a queue: that the workers have another one, or that jobs cannot be read here. */
export async function auditCodec(queue: JobQueue): Promise<string[]> {
  const found = await Promise.all([auditWorkers(queue), auditJobs(queue)]);
  return found.filter((warning) => warning !== undefined);
}

/** Compares the codec with that of the worker that announced itself last. */
async function auditWorkers(queue: JobQueue): Promise<string | undefined> {
  const announced = await queue.exec((calls) => calls.content());
  const own = queue.options.codec?.name;
  if (!announced || announced.codec === own) {
    return undefined;
  }
  return (
    `Queue "${queue.name}" was last served by a worker with ${inWords(announced.codec)}, and this process has ${inWords(own)}. ` +
    `What one of them stores, the other may not read: such jobs become dead letters with a CodecError. ${REMEDY}`
  );
}

function inWords(codec: string | undefined): string {
  return codec === undefined ? 'no codec' : `the codec "${codec}"`;
}

/** Looks at a few jobs of a queue. Returns a warning where this process cannot read one of them; undefined where it reads all. */
async function auditJobs(queue: JobQueue): Promise<string | undefined> {
  const pages = await Promise.all(PLACES.map((status) => queue.list(status, { limit: LOOKS })));
  const unreadable = pages.flat().find(({ payload }) => codecOf(payload) !== undefined);
  if (!unreadable) {
    return undefined;
  }
  try {
    decodeContent(queue.options.codec, unreadable.payload);
    return undefined;
  } catch (error) {
    return (
      `Queue "${queue.name}" has jobs that this process cannot read, such as ${unreadable.id}: ${(error as CodecError).message} ` +
      `Handlers here would fail them. ${REMEDY}`
    );
  }
}
