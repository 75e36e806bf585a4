// Streams of jobs: each attempt writes 1, 2, 3, … behind its fence. What is stored has them in this order, each once.
import type { StreamEntry } from '#memory/server/keyspace.js';
import type { StreamItem } from '#queue/model/job-stream.js';
import type { Fault } from './known.js';

/** A chunk as the simulated handlers write it. */
interface Chunk {
  fence: number;
  count: number;
}

/** What a reader of a stream has had. */
interface Followed {
  last: Chunk | undefined;
  chunks: number;
  /** True if the reader learned that the stream began anew, or that entries are gone. */
  hasGaps: boolean;
}

export class StreamRules {
  private readonly readers = new Map<string, Followed>();

  constructor(private readonly fault: Fault) {}

  /** Returns the chunk that a handler writes. */
  chunk({ fence, count }: Chunk): string {
    return `${fence}:${count}`;
  }

  /** Checks an item that a reader has got. It gets each chunk of an attempt once, in order, and none of an older attempt later. */
  followed(reader: string, id: string, item: StreamItem): void {
    const key = `${reader} ${id}`;
    const known = this.readers.get(key) ?? { last: undefined, chunks: 0, hasGaps: false };
    this.readers.set(key, known);
    if (item.type === 'chunk') {
      const chunk = chunkIn(item.data as string);
      known.chunks++;
      this.follows(`${reader} got of ${id}`, known.last, chunk);
      known.last = chunk;
    } else if (item.type === 'truncated' || (item.type === 'attempt' && item.data.restart)) {
      Object.assign(known, { last: undefined, hasGaps: true });
    }
  }

  /** Checks that a reader has had all that is stored, once the job has ended. */
  followedToEnd(reader: string, id: string, entries: readonly StreamEntry[]): void {
    const { chunks, hasGaps } = this.readers.get(`${reader} ${id}`) ?? { chunks: 0, hasGaps: false };
    const stored = entries.flatMap(({ fields }) => chunkOf(fields)).length;
    if (chunks !== stored && !hasGaps) {
      this.fault(`stream: ${reader} got ${chunks} chunks of ${id}, and ${stored} are there`);
    }
  }

  private follows(who: string, before: Chunk | undefined, chunk: Chunk): void {
    if (before && chunk.fence < before.fence) {
      this.fault(`stream: ${who} claim ${chunk.fence} behind claim ${before.fence}`);
    }
    if (before?.fence === chunk.fence && chunk.count !== before.count + 1) {
      this.fault(`stream: ${who} claim ${chunk.fence} chunk ${chunk.count} behind ${before.count}`);
    }
  }

  /** Checks what is stored of a job. The oldest entries may be gone. */
  stored(id: string, entries: readonly StreamEntry[]): void {
    let before: Chunk | undefined;
    for (const chunk of entries.flatMap(({ fields }) => chunkOf(fields))) {
      this.follows(`${id} has`, before, chunk);
      before = chunk;
    }
  }
}

/** Returns the chunk of an entry; none of a mark. */
function chunkOf([field, value]: readonly string[]): Chunk[] {
  if (!field?.endsWith('j')) {
    return [];
  }
  return [chunkIn(JSON.parse(value!) as string)];
}

function chunkIn(text: string): Chunk {
  const [fence, count] = text.split(':').map(Number);
  return { fence: fence!, count: count! };
}
