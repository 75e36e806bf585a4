/**
 * Runs inside a thread: loads the handler's file and runs the jobs that piscina passes. It is CommonJS and not
 * compiled, so that both builds and the sources use one file. It knows its own path and imports as Node does.
 *
 * A job and its thread communicate over the job's own port. To the thread: `abort` (reason) and `answer` (ask, value or
 * error). From it: the questions of thread-run.ts, each with its number (ask). `profile` (json) is what was measured. Last comes `done` (a sent value),
 * `refused` (a result that cannot be stored: path, expected, found) or `failed` (error). A sent value is JSON or a copy,
 * see thread-values.ts.
 */
'use strict';

const { setMaxListeners } = require('node:events');
const { createRequire } = require('node:module');
const { pathToFileURL } = require('node:url');
const { inspect } = require('node:util');
const {
  checkLogLine,
  InvalidPayloadError,
  Measurement,
  sentJob,
  sentMember,
  sentMembers,
  sentValue,
} = require('./thread-values.generated.cjs');

// Undefined in a bundle.
exports.file = module.filename;

const DEEPEST = 5;
const MOST_ERRORS = 11; // one more than is stored, so that an excess is noticed

let handler;

exports.run = async ({ file, fields, content, measured, port }) => {
  try {
    handler ??= await load(file);
    const job = new ThreadJob(port, fields, content);
    const result = measured ? await measure(measured, port, () => called(job)) : await called(job);
    await job.flush();
    port.postMessage(ended(result, content));
  } catch (error) {
    port.postMessage({ type: 'failed', error: plain(error) });
    // A failed load is cached, so the next job must try it in a new thread.
    if (!handler) process.exit(1);
  }
};

async function called(job) {
  const returned = await handler(job);
  return isStreamed(returned) ? streamed(job, returned) : returned;
}

/** Measures a call, and sends the profile before its result. Without a profiler the call runs all the same. */
async function measure(measured, port, call) {
  const measurement = await Measurement.begin(measured).catch(() => undefined);
  const sent = measurement?.ended.then((json) => port.postMessage({ type: 'profile', json }));
  try {
    return await call();
  } finally {
    measurement?.end();
    await sent?.catch(() => undefined);
  }
}

function ended(result, { asJson }) {
  try {
    return { type: 'done', ...sentValue('result', result, asJson) };
  } catch (error) {
    if (!(error instanceof InvalidPayloadError)) throw error;
    const { path, expected, found } = error;
    return { type: 'refused', path, expected, found };
  }
}

class ThreadJob {
  #port;
  #content;
  #asks = new Map();
  #asked = 0;
  #controller = new AbortController();
  #chunks;

  constructor(port, fields, content) {
    this.#port = port;
    setMaxListeners(0, this.#controller.signal); // it ends with the job, so Node's warning of a leak would be wrong
    this.#content = content;
    Object.assign(this, fields);
    this.batch = fields.batch && new ThreadBatch(fields.batch, content, (question) => this.#ask(() => question));
    port.on('message', (message) => {
      if (message.type === 'abort') this.#controller.abort(named(message.reason));
      else this.#answer(message);
    });
  }
  get signal() {
    return this.#controller.signal;
  }
  progress(value) {
    return this.#ask(() => ({ type: 'progress', ...sentValue('progress', value, this.#content.asJson) }));
  }
  async checkpoint(value) {
    await this.#ask(() => ({ type: 'checkpoint', ...sentValue('checkpoint', value, this.#content.asJson) }));
    this.lastCheckpoint = value;
  }
  step(name) {
    const why = 'a handler in a thread has no steps. Use job.checkpoint, or run the handler in the process';
    return Promise.reject(new Error(`step ${JSON.stringify(name)}: ${why}.`));
  }
  waitFor(name) {
    return noWaits(`waitFor ${JSON.stringify(name)}`);
  }
  sleep(delayMs) {
    return noWaits(`sleep ${delayMs} ms`);
  }
  log(message) {
    return this.#ask(() => {
      checkLogLine(message);
      return { type: 'log', message };
    });
  }
  /** Writes the stream of the job. The first chunk that was not stored fails the job. */
  stream = {
    write: (chunk) => {
      const isBytes = chunk instanceof Uint8Array;
      const value = isBytes ? Buffer.from(chunk).toString('base64') : chunk;
      const sent = sentValue('chunk', value, isBytes || this.#content.asJson);
      const written = this.#ask(() => ({ type: 'stream', isBytes, ...sent }));
      this.#chunks = Promise.all([this.#chunks, written]).then(() => undefined); // else each result holds all before
      this.#chunks.catch(() => undefined);
      return written;
    },
  };
  /** Waits until all chunks are stored. */
  async flush() {
    await this.#chunks;
  }
  snooze(delayMs) {
    throw Object.assign(named({ name: 'RetryLaterError', message: `retry in ${delayMs} ms` }), { delayMs });
  }
  /** Sends the question that the function makes. Its error is that of the call. */
  #ask(make) {
    const answered = new Promise((resolve, reject) => {
      const ask = ++this.#asked;
      this.#port.postMessage({ ...make(), ask });
      this.#asks.set(ask, { resolve, reject });
    });
    answered.catch(() => undefined); // a handler that does not await it must not end its thread
    return answered;
  }
  #answer({ ask, value, error }) {
    const { resolve, reject } = this.#asks.get(ask);
    this.#asks.delete(ask);
    if (error) reject(named(error));
    else resolve(value);
  }
}

function noWaits(call) {
  const why =
    'a handler in a thread has no waits. Run the handler in the process, or wait there before a job in a thread';
  return Promise.reject(new Error(`${call}: ${why}.`));
}

function isStreamed(returned) {
  return typeof returned === 'object' && returned !== null && Symbol.asyncIterator in returned;
}

/** Writes what a handler yields, and returns what its generator returns. */
async function streamed(job, chunks) {
  const iterator = chunks[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (;;) {
      const { done, value } = await iterator.next();
      isOver = done;
      if (done) return value;
      job.signal.throwIfAborted();
      await job.stream.write(value);
    }
  } finally {
    if (!isOver) await iterator.return?.().catch(() => undefined); // the error of the loop counts
  }
}

class ThreadBatch {
  #content;
  #ask;

  constructor({ id, queue }, content, ask) {
    Object.assign(this, { id, queue });
    this.#content = content;
    this.#ask = ask;
  }
  async add(job, payload, options = {}) {
    return this.#ask({ type: 'batch.add', ...(await sentMember(job, payload, this.#content)), options });
  }
  async addMany(job, jobs, options = {}) {
    const members = await sentMembers(job, jobs, this.#content);
    return this.#ask({ type: 'batch.addMany', job: sentJob(job), members, options });
  }
  status() {
    return this.#ask({ type: 'batch.status' });
  }
  wait({ signal, ...options } = {}) {
    signal?.throwIfAborted();
    return this.#ask({ type: 'batch.wait', options });
  }
  results(options) {
    return this.#ask({ type: 'batch.results', options });
  }
  async *members() {
    for (let offset = 0; offset !== undefined;) {
      const page = await this.results({ offset, limit: 500 });
      yield* page.members;
      offset = page.next;
    }
  }
  /** Yields the progress of the batch's members; those of a follow-up have ended. */
  async *progress() {
    yield await this.status();
  }
}

async function load(file) {
  // A loader for TypeScript may know require only.
  const requireIt = createRequire(file);
  const byRequire = /\.c?ts$/.test(file) && requireIt.extensions['.ts'];
  const loaded = byRequire ? requireIt(file) : await import(pathToFileURL(file).href);
  // A CommonJS module compiled from an ES module has its default one level deeper.
  const found = [loaded?.default?.default, loaded?.default, loaded].find((each) => typeof each === 'function');
  if (!found) throw new TypeError(`${file} has no function as its default export: export default (job) => …`);
  return found;
}

function named({ message, cause, ...fields }) {
  return Object.assign(new Error(message), fields, cause && { cause: named(cause) });
}

/**
 * Returns a thrown value as data, with its cause and the errors of an AggregateError. Its depth is that of stored
 * errors.
 */
function plain(thrown, depth = 0) {
  try {
    if (!(thrown instanceof Error)) {
      return { name: 'Error', message: typeof thrown === 'string' ? thrown : inspect(thrown) };
    }
    const [name, message, stack] = [thrown.name, thrown.message, thrown.stack].map(String);
    const numberOf = (field) => (typeof thrown[field] === 'number' ? thrown[field] : undefined);
    const inner = (error) => plain(error, depth + 1);
    const { cause, errors } = depth < DEEPEST ? thrown : {};
    return {
      name,
      message,
      stack,
      kind: kindOf(thrown),
      delayMs: numberOf('delayMs'),
      retryAfterMs: numberOf('retryAfterMs'),
      limit: typeof thrown.limit === 'string' ? thrown.limit : undefined,
      cause: cause === undefined || cause === null ? undefined : inner(cause),
      errors: Array.isArray(errors) ? errors.slice(0, MOST_ERRORS).map(inner) : undefined,
    };
  } catch {
    return { name: 'Error', message: 'an error that cannot be read' };
  }
}

/** The errors that decide about the job. */
const DECISIVE = new Set(['NonRetryableError', 'RetryLaterError', 'RateLimitedError']);

/** The errors that keep their name on the way to the thread, because the thread has no class of them. */
const NAMED = new Set(['RetryLaterError', 'RateLimitedError', 'RedisStateError', 'RedisOutOfMemoryError']);

/** Returns by name which error that decides about the job it is, because a thread has its own classes. */
function kindOf(error) {
  if (NAMED.has(error.name)) return error.name;
  for (let each = error; each; each = Object.getPrototypeOf(each)) {
    const name = each.constructor?.name;
    if (DECISIVE.has(name)) return name;
  }
  return undefined;
}
