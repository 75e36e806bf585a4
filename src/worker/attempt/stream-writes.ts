import { encodeContent } from '../../queue/codec/encode-content.js';
import type { ContentRules } from '../../queue/codec/codec.js';
import { ClaimLostError, InvalidPayloadError } from '../../queue/errors/errors.js';
import type { JobQueue } from '../../queue/job-queue.js';
import type { ClaimedJob } from '../../queue/model/job.js';
import { LONGEST_CHUNK } from '../../queue/model/job-stream.js';
import type { StoreCalls } from '../../queue/store/store-calls.js';
import type { StoredChunk, StreamWrite } from '../../queue/verbs/stream.js';

/** The most bytes of chunks in one call. Heartbeats and claims would wait behind more. */
const MOST_CALL_BYTES = 262_144;

/** The most arguments of one call, fewer than the 3,999 that some hosts of Redis allow. An attempt has six beside its chunks. */
const MOST_CALL_ARGS = 3_500;
const ARGS_OF_ATTEMPT = 6;

/** A chunk that is not acknowledged. */
interface Waiting extends StoredChunk {
  readonly bytes: number;
  readonly resolve: (bytes: number) => void;
  readonly reject: (error: unknown) => void;
}

/** The chunks of one attempt. */
interface Writes {
  readonly claim: ClaimedJob;
  /** How many of its chunks were sent. */
  sent: number;
  waiting: Waiting[];
  /** Why a chunk was not stored. Then no later one is, because the stream would have a gap. */
  fault?: { readonly error: unknown };
}

/**
 * Writes the chunks of all running jobs of a queue. One call is in flight at a time. Chunks that are written meanwhile share the next
 * one, whatever their job. So each job's chunks keep their order.
 */
export class StreamWrites {
  private readonly writes = new Map<number, Writes>();
  private isSending = false;
  private readonly rules: ContentRules;
  private readonly longest: number;

  constructor(
    private readonly queue: JobQueue,
    private readonly calls: StoreCalls,
    private readonly onLost: (job: ClaimedJob) => void,
  ) {
    const { codec, redact, stream } = queue.options;
    this.rules = { maxPayloadBytes: Infinity, ...(codec && { codec }), ...(redact && { redact }) };
    this.longest = Math.min(LONGEST_CHUNK, stream.maxBytes);
  }

  /**
   * Writes a chunk; resolves with its bytes once Redis has it.
   *
   * @throws InvalidPayloadError at once
   */
  write(job: ClaimedJob, chunk: unknown): Promise<number> {
    const stored = this.stored(job, chunk);
    const writes = this.writesOf(job);
    if (writes.fault) {
      return Promise.reject(writes.fault.error);
    }
    const written = new Promise<number>((resolve, reject) => writes.waiting.push({ ...stored, resolve, reject }));
    if (!this.isSending) {
      void this.send();
    }
    return written;
  }

  /** Forgets an attempt whose handler has ended. All its chunks are answered by then. */
  forget({ fence }: ClaimedJob): void {
    this.writes.delete(fence);
  }

  private writesOf(claim: ClaimedJob): Writes {
    const { fence } = claim;
    const known = this.writes.get(fence) ?? { claim, sent: 0, waiting: [] };
    this.writes.set(fence, known);
    return known;
  }

  private stored(job: ClaimedJob, chunk: unknown): StoredChunk & { readonly bytes: number } {
    const isBytes = chunk instanceof Uint8Array;
    if (chunk === undefined) {
      throw new InvalidPayloadError('chunk', 'text, JSON or bytes', 'undefined');
    }
    const value = isBytes
      ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('base64')
      : chunk;
    const json = encodeContent('chunk', value, this.rules, job);
    const bytes = Buffer.byteLength(json);
    if (bytes > this.longest) {
      throw new InvalidPayloadError(
        'chunk',
        `at most ${this.longest} bytes as stored; write it in several chunks`,
        `${bytes} bytes`,
      );
    }
    return { kind: isBytes ? 'b' : 'j', json, bytes };
  }

  private async send(): Promise<void> {
    this.isSending = true;
    for (let taken = this.take(); taken.length > 0; taken = this.take()) {
      try {
        const calls = taken.map(({ writes: { claim, sent }, chunks }): StreamWrite => ({
          claim,
          first: sent + 1,
          chunks,
        }));
        const lost = await this.queue.store.exec(this.calls.streams.write({ writes: calls }));
        taken.forEach((each, i) => (lost.includes(i) ? this.lose(each.writes, each.chunks) : confirm(each)));
      } catch (error) {
        taken.forEach(({ writes, chunks }) => fail(writes, chunks, error));
      }
    }
    this.isSending = false;
  }

  /** Takes waiting chunks, of each attempt from its first on. Attempts take turns, so that none starves the others. */
  private take(): { writes: Writes; chunks: Waiting[] }[] {
    const taken: { writes: Writes; chunks: Waiting[] }[] = [];
    let [bytes, args] = [0, 0];
    for (const writes of this.writes.values()) {
      const chunks: Waiting[] = [];
      for (const chunk of writes.waiting) {
        if (args > 0 && (bytes + chunk.bytes > MOST_CALL_BYTES || args > MOST_CALL_ARGS)) break;
        args += chunks.length === 0 ? ARGS_OF_ATTEMPT + 2 : 2;
        bytes += chunk.bytes;
        chunks.push(chunk);
      }
      if (chunks.length > 0) {
        writes.waiting.splice(0, chunks.length);
        taken.push({ writes, chunks });
      }
    }
    for (const { writes } of taken) {
      this.writes.delete(writes.claim.fence);
      this.writes.set(writes.claim.fence, writes); // behind the others
    }
    return taken;
  }

  private lose(writes: Writes, chunks: readonly Waiting[]): void {
    this.writes.delete(writes.claim.fence); // its handler may write on, and learns the same again
    this.onLost(writes.claim);
    fail(writes, chunks, new ClaimLostError(writes.claim.id));
  }
}

function confirm({ writes, chunks }: { writes: Writes; chunks: readonly Waiting[] }): void {
  writes.sent += chunks.length;
  chunks.forEach(({ resolve, bytes }) => resolve(bytes));
}

function fail(writes: Writes, chunks: readonly Waiting[], error: unknown): void {
  writes.fault = { error };
  [...chunks, ...writes.waiting.splice(0)].forEach(({ reject }) => reject(error));
}
