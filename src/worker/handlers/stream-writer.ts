import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import {
  type StandardSchema,
  type Hiding,
  validateWithSchema,
} from '../../queue/validation/validate-with-schema.js';

/** How many yielded chunks may wait for Redis before the next is asked for. */
const MOST_UNWRITTEN = 64;

/** The schema of the chunks of a definition. */
interface ChunkSchema {
  readonly name: string;
  readonly chunk: StandardSchema;
}

/** Sends a chunk. Resolves with its bytes once Redis has it. */
type SendChunk = (chunk: unknown) => Promise<number>;

/**
 * Writes the stream of a job, which any process can read while the job runs: `job.stream`.
 *
 * @example for await (const token of model.answer(job.payload)) await job.stream.write(token);
 */
export class StreamWriter<Chunk = unknown> {
  private last: Promise<void> | undefined;
  /** The chunks that Redis has, and their bytes as stored. For metrics. @internal */
  readonly written = { chunks: 0, bytes: 0 };
  private unanswered = 0;
  private fault: { readonly error: unknown } | undefined;
  /** Private, so that a logged job does not show it. */
  readonly #send: SendChunk;
  #check: ((chunk: unknown) => void) | undefined;
  #refused: Promise<never> | undefined;

  /** @internal */
  constructor(send: SendChunk) {
    this.#send = send;
  }

  /**
   * Appends a chunk: text, JSON or bytes, of at most 262,144 bytes as stored. It need not be awaited: chunks keep their order, and the
   * attempt does not end before Redis has them. Awaiting it holds up a handler that is faster than Redis. If a chunk cannot be stored,
   * the attempt fails, because its stream would have a gap.
   *
   * @throws InvalidPayloadError at once, for a chunk that is too large, no JSON, or not as its definition has it
   * @returns rejects with a ClaimLostError after the end of the claim or the handler. Else with the error of Redis
   * @example await job.stream.write('Hello');
   */
  write(chunk: Chunk): Promise<void> {
    if (this.#refused) {
      return this.#refused;
    }
    this.#check?.(chunk);
    const written = this.count(this.#send(chunk));
    this.unanswered++;
    this.last = written.catch((error: unknown) => void (this.fault ??= { error })).finally(() => this.unanswered--);
    return written;
  }

  private async count(sent: Promise<number>): Promise<void> {
    const bytes = await sent;
    this.written.chunks++;
    this.written.bytes += bytes;
  }

  /** Sets the schema that checks each chunk. For the worker. @internal */
  define({ name, chunk: schema }: ChunkSchema, hiding: Hiding | undefined): void {
    this.#check = (chunk) => {
      const checked = validateWithSchema('chunk', schema, chunk, hiding);
      if (checked instanceof Promise) {
        checked.catch(() => undefined); // the schema is refused, whatever it says
        const expected = 'a schema without asynchronous parts, because chunks keep their order';
        throw new InvalidOptionError(`defineJob(${show(name)}).chunk`, expected, 'an asynchronous one');
      }
    };
  }

  /** Refuses what is written behind the end of the handler, because the attempt waits for nothing more. @internal */
  end(reason: Error): void {
    this.#refused ??= Promise.reject(reason);
    this.#refused.catch(() => undefined);
  }

  /** The end of the chunks that Redis has not answered; undefined if there are none. It does not reject. @internal */
  get pending(): Promise<void> | undefined {
    return this.unanswered > 0 ? this.last : undefined;
  }

  /** Waits until Redis has all chunks. @throws the error of the first that was not stored @internal */
  async flush(): Promise<void> {
    await this.last;
    if (this.fault) {
      throw this.fault.error;
    }
  }
}

/** Returns whether a handler returned chunks to stream. */
export function isStreamed(returned: unknown): returned is AsyncIterable<unknown> {
  return typeof returned === 'object' && returned !== null && Symbol.asyncIterator in returned;
}

/** The job of a handler that yields. */
interface StreamedJob {
  readonly stream: StreamWriter;
  readonly abortReason: Error | undefined;
}

/**
 * Writes what a handler yields to the stream of its job. Stops at the next chunk once the signal of the job has aborted.
 *
 * @returns what the generator returns: the result of the job
 */
export async function streamed(job: StreamedJob, chunks: AsyncIterable<unknown>): Promise<unknown> {
  const iterator = chunks[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (let count = 1; ; count++) {
      const step = await iterator.next();
      if (step.done) {
        isOver = true;
        return step.value;
      }
      if (job.abortReason) {
        throw job.abortReason;
      }
      const written = job.stream.write(step.value);
      if (count % MOST_UNWRITTEN === 0) await written;
    }
  } finally {
    if (!isOver) await iterator.return?.().catch(() => undefined); // the error of the loop counts
  }
}
