import { z } from 'zod';
import type { Sealed } from '../../queue/codec/sealed.js';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { refuseContradictions } from '../../queue/enqueue/enqueue-options.js';
import { groupName } from '../../queue/model/group.js';
import { jobFieldsAt } from '../../queue/model/job-options.js';
import { groupLimitFields } from '../../queue/model/limits.js';
import { refuseBesideTransaction } from '../../queue/results/store-jobs.js';
import { aged, type EncodedJob } from '../../queue/store/enqueue-call.js';
import type { OnceEntry } from '../../queue/verbs/once.js';
import { checkJobId, checkJobName, isId } from '../../queue/validation/names.js';
import { duration } from '../../queue/validation/numbers.js';
import { checkOptions } from '../../queue/validation/validate-options.js';
import type { OutboxEntry, OutboxJob } from '../dialects/dialect.js';

/** The part of an encoded job that a row keeps as JSON. */
type KeptOptions = Pick<EncodedJob, 'options' | 'span'>;

const time = z.int({ error: 'expected a whole number of ms' });
const id = z.custom<string>(isId, 'expected an id');

const { name: _name, id: _id, addedBy: _addedBy, stopsBatch: _stopsBatch, ...fields } = jobFieldsAt('enqueue');

/** The kept options, in their sent form. */
const keptSchema = z.strictObject(
  {
    options: z
      .strictObject({
        ...fields,
        runAt: time.optional(),
        groupLimits: z.strictObject(groupLimitFields).nullable().optional(),
        request: id.optional(),
        payloadId: id.optional(),
      })
      .optional(),
    span: z.strictObject({ runAtMs: time, expiresInMs: duration(1) }).optional(),
  },
  { error: 'expected an object with options, span' },
);

/** The text of the options of a job without any. */
const NONE = '{}';
const LONGEST_ENTRY = 256;

export function rowOf(connection: string, queue: string, job: EncodedJob): OutboxJob {
  const { name, payload, options, span } = job;
  const kept: KeptOptions = { ...(options && { options }), ...(span && { span }) };
  const { request, group } = options ?? {};
  // An id of the caller may come again, but not the id of its request.
  return {
    entry: request ?? job.id,
    id: job.id,
    connection,
    queue,
    name,
    payload,
    options: JSON.stringify(kept),
    group,
  };
}

/**
 * Returns the job of a row. A delay and an expiry count from the insert. Checks all of it, as an enqueue does. A script
 * that fails at an option keeps what it has written by then.
 *
 * @throws InvalidOptionError or SyntaxError for a row that no enqueue has written
 */
export function entryOf(row: OutboxEntry): OnceEntry {
  const { entry, name, payload, ageMs, group } = row;
  if (entry.length === 0 || entry.length > LONGEST_ENTRY) {
    throw new InvalidOptionError('entry', `text of 1 to ${LONGEST_ENTRY} characters`, show(entry));
  }
  checkJobId(row.id, 'id');
  checkJobName(name, 'name');
  if (group !== undefined) {
    checkOptions('group_name', groupName, group);
  }
  const job: EncodedJob = { id: row.id, name, payload: checkedJson(payload), ...keptOf(row.options) };
  return { key: entry, job: aged(job, ageMs) };
}

function checkedJson(payload: Sealed | undefined): Sealed {
  if (payload === undefined) {
    throw new InvalidOptionError('payload', 'at most 512 MiB', 'more');
  }
  try {
    JSON.parse(payload);
  } catch {
    throw new InvalidOptionError('payload', 'JSON', `${payload.length} characters of other text`);
  }
  return payload;
}

function keptOf(text: string): KeptOptions {
  if (text === NONE) {
    return {};
  }
  const kept = checkOptions('options', keptSchema, JSON.parse(text)) as KeptOptions;
  const { options = {} } = kept;
  if (options.groupLimits !== undefined && options.group === undefined) {
    throw new InvalidOptionError('options.options.groupLimits', 'a group beside them', 'none');
  }
  refuseContradictions('options.options', options);
  refuseBesideTransaction(kept);
  return kept;
}
