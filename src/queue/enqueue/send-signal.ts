import { encodeContent } from '../codec/encode-content.js';
import { HIDE_ALL } from '../codec/redact.js';
import { NO_TEXT } from '../codec/sealed.js';
import { InvalidOptionError, JobNotFoundError, type SignalRefusal, SignalRefusedError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import {
  MOST_BYTES_OF_SIGNALS,
  MOST_SIGNAL_BYTES,
  MOST_SIGNALS,
  type SignalOutcome,
  type SignalReply,
} from '../model/signal.js';
import type { QueueAccess } from '../store/queue-store.js';
import { checkText, isId } from '../validation/names.js';
import { validateWithSchema } from '../validation/validate-with-schema.js';
import { isJobDefinition, type JobDefinition } from './define-job.js';
import { type EditedQueue, handlerDefinition } from './update-job.js';

/**
 * Gives a job a signal; see JobQueue.signal.
 *
 * @throws InvalidOptionError, InvalidPayloadError, JobNotFoundError, SignalRefusedError
 */
export async function sendSignal(
  queue: QueueAccess & EditedQueue,
  first: string | JobDefinition,
  rest: readonly unknown[],
): Promise<SignalOutcome> {
  const given = isJobDefinition(first) ? first : undefined;
  const [id, signal, data] = (given ? rest : [first, ...rest]) as [string, string, unknown];
  checkText('job id', id);
  checkSignalName(signal);
  const definition = given ?? (await handlerDefinition(queue, id));
  const { codec, redact } = queue.options;
  if (definition?.signals) {
    const schema = schemaOf(definition, signal);
    const stored = data === undefined ? undefined : asStored(queue, data);
    await validateWithSchema('data', schema, stored, redact && HIDE_ALL);
  }
  // A codec binds the data to the name too, so that another signal cannot take its place.
  const bound = codec ? { name: signal, value: data } : data;
  const json =
    data === undefined
      ? NO_TEXT
      : encodeContent('signal', bound, rulesOf(queue), { queue: queue.name, id }, 'data');
  const request = queue.store.clock.randomId();
  const reply = await queue.exec((calls) =>
    calls.signal({ id, signal, data: json, request, name: definition?.name }),
  );
  const movedTo = reply === 'cancelled' ? (await queue.get(id))?.movedTo : undefined;
  if (movedTo !== undefined) {
    throw new SignalRefusedError(id, signal, 'moved', `it moved to ${movedTo}. Signal it there.`);
  }
  return outcomeOf(reply, queue.name, id, signal);
}

/** @throws InvalidOptionError */
function checkSignalName(signal: unknown): asserts signal is string {
  if (!isId(signal)) {
    throw new InvalidOptionError('signal', 'a name of 1 to 128 characters of text', show(signal));
  }
}

/** Returns the schema of a signal. @throws InvalidOptionError for one that its definition does not have */
export function schemaOf({ name, signals = {} }: Pick<JobDefinition, 'name' | 'signals'>, signal: string) {
  const schema = Object.hasOwn(signals, signal) ? signals[signal] : undefined;
  if (!schema) {
    const known = Object.keys(signals).map(show).join(', ');
    const hint = `The definition of the jobs ${show(name)} lists its signals: add it there, or correct the name.`;
    throw new InvalidOptionError('signal', known === '' ? 'none' : `one of ${known}`, show(signal), hint);
  }
  return schema;
}

/** Returns the data in the form that the handler reads. */
function asStored(queue: QueueAccess, data: unknown): unknown {
  const plain = { ...rulesOf(queue), codec: undefined };
  return JSON.parse(encodeContent('signal', data, plain, { queue: queue.name, id: '' }, 'data')) as unknown;
}

function rulesOf({ options }: QueueAccess) {
  return { ...options, maxPayloadBytes: Math.min(options.maxPayloadBytes, MOST_SIGNAL_BYTES) };
}

/** How a job goes on from its end. */
const AFTER_END = {
  completed: 'it has completed. Run it again first, if it is to take part once more.',
  failed: 'it is a dead letter. Redrive it first.',
  cancelled: 'it was cancelled. Run it again first, if it is to take part once more.',
};

/** Returns the outcome. @throws JobNotFoundError, SignalRefusedError */
function outcomeOf(reply: SignalReply, queue: string, id: string, signal: string): SignalOutcome {
  const refused = (reason: SignalRefusal, why: string) => new SignalRefusedError(id, signal, reason, why);
  switch (reply) {
    case 'missing':
      throw new JobNotFoundError(id, queue);
    case 'completed':
    case 'failed':
    case 'cancelled':
      throw refused('ended', AFTER_END[reply]);
    case 'late':
      throw refused('late', 'its wait for that is over. Tell the sender that the answer came too late.');
    case 'other-name':
      throw refused('other-name', 'its name is not that of the given definition. Signal it by its own definition.');
    case 'signals':
      throw refused(
        'full',
        `it has ${MOST_SIGNALS} signals, and no job may have more. Send what belongs together at once.`,
      );
    case 'bytes':
      throw refused(
        'full',
        `its signals would have more than ${MOST_BYTES_OF_SIGNALS} bytes. Store large data elsewhere, and send its place.`,
      );
    default:
      return reply;
  }
}
