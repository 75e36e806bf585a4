/**
 * What runs inside a thread: loads the handler's file and runs one job at a time. A text, and not a file, whose place
 * would be known neither in a bundle nor in the same way in both module formats; run as an ES module, since Node gives
 * only to these the loaders that the process was started with.
 *
 * From the pool: `run` (run, job), `abort` (run, reason), `answer` (run, ask, error?). To it: `done` (run, result),
 * `failed` (run, error, unusable), and `progress` (value) and `log` (message), each with run and ask. `run` numbers the
 * jobs of a thread, `ask` the questions of a job, so that nothing of one job is taken for another's.
 */
const SOURCE = `
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { parentPort, workerData } from 'node:worker_threads';

class ThreadJob {
  #run;
  #asks = new Map();
  #asked = 0;
  #controller = new AbortController();

  constructor(run, fields) {
    this.#run = run;
    Object.assign(this, fields);
  }
  get signal() {
    return this.#controller.signal;
  }
  progress(value) {
    return this.#ask({ type: 'progress', value });
  }
  log(message) {
    return this.#ask({ type: 'log', message });
  }
  snooze(delayMs) {
    throw Object.assign(named('RetryLaterError', 'retry in ' + delayMs + ' ms'), { delayMs });
  }
  abort({ name, message }) {
    this.#controller.abort(named(name, message));
  }
  answer(ask, error) {
    const { resolve, reject } = this.#asks.get(ask);
    this.#asks.delete(ask);
    if (error) reject(named(error.name, error.message));
    else resolve();
  }
  #ask(question) {
    return new Promise((resolve, reject) => {
      const ask = ++this.#asked;
      parentPort.postMessage({ ...question, run: this.#run, ask });
      this.#asks.set(ask, { resolve, reject });
    });
  }
}

let number = 0;
let job;
let handler;

parentPort.on('message', (message) => {
  if (message.type === 'run') void run(message.run, message.job);
  else if (message.run !== number) return; // of a job that has ended
  else if (message.type === 'abort') job.abort(message.reason);
  else job.answer(message.ask, message.error);
});

async function run(next, fields) {
  number = next;
  job = new ThreadJob(next, fields);
  try {
    handler ??= await load(workerData.file);
    const result = await handler(job);
    parentPort.postMessage({ type: 'done', run: next, result });
  } catch (error) {
    parentPort.postMessage({ type: 'failed', run: next, error: plain(error), unusable: !handler });
  }
}

async function load(file) {
  // A loader for TypeScript may know require only.
  const require = createRequire(file);
  const loaded = /\\.c?ts$/.test(file) && require.extensions['.ts'] ? require(file) : await import(pathToFileURL(file).href);
  // Of a CommonJS module that was compiled from an ES module, the default lies one deeper.
  const found = [loaded?.default?.default, loaded?.default, loaded].find((each) => typeof each === 'function');
  if (!found) throw new TypeError(file + ' has no function as its default export: export default (job) => …');
  return found;
}

function named(name, message) {
  const error = new Error(message);
  error.name = name;
  return error;
}

function plain(thrown) {
  if (!(thrown instanceof Error)) return { name: 'Error', message: typeof thrown === 'string' ? thrown : inspect(thrown) };
  const { name, message, stack, delayMs } = thrown;
  const text = { name: String(name), message: String(message), stack: String(stack) };
  return { ...text, kind: kindOf(thrown), delayMs: typeof delayMs === 'number' ? delayMs : undefined };
}

/** Which of the errors that say what becomes of the job it is, by name: a thread has classes of its own. */
function kindOf(error) {
  if (error.name === 'RetryLaterError') return error.name;
  for (let each = error; each; each = Object.getPrototypeOf(each)) {
    const name = each.constructor?.name;
    if (name === 'NonRetryableError' || name === 'RetryLaterError') return name;
  }
  return undefined;
}
`;

/** Where a thread begins. */
export const THREAD_URL = new URL(`data:text/javascript,${encodeURIComponent(SOURCE)}`);
