import { codecOf, decodeContent, type CodecError } from '../../queue/codec/codec.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { JobStatus } from '../../queue/model/job.js';

/** Where jobs are looked at, and how many in each place. */
const PLACES: readonly JobStatus[] = ['pending', 'scheduled', 'failed'];
const LOOKS = 3;

/** Looks at a few jobs of a queue. Returns a warning where this process cannot read one of them; undefined where it reads all. */
export async function auditCodec(queue: JobQueue): Promise<string | undefined> {
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
      'Handlers here would fail them. Give all processes of the queue the same codec and keys.'
    );
  }
}
