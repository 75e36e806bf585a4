// How scripts get the options of a job: as JSON. A part of it is the text for the worker, which no script reads.
import type { GroupLimits } from '../model/limits.js';
import { JOB_OPTIONS, type JobOption, type JobOptionName } from '../model/job-options.js';
import { encodePlainOptions, NO_METADATA } from '../model/metadata.js';
import type { AskedOptions } from '../store/asked-options.js';
import { batchFields } from '../store/job-ref.js';
import { withoutUndefined } from '../runtime/collections.js';
import { groupArguments } from './encode-limits.js';

/**
 * Returns the options as `lua/job/enqueue.lua` reads them; '' for none.
 *
 * @param bounds the producer's limits of each group. Its bounds go with a job of a group
 */
export function encodeJobOptions(options: AskedOptions | undefined, bounds: GroupLimits = {}): string {
  if (options === undefined) {
    return '';
  }
  const script = forScript(options);
  if (options.group !== undefined) {
    Object.assign(
      script,
      withoutUndefined({ max_pending: bounds.maxPending, max_pending_bytes: bounds.maxPendingBytes }),
    );
  }
  const worker = forWorker(options);
  if (worker !== undefined) {
    script.worker = worker;
  }
  return Object.keys(script).length > 0 ? JSON.stringify(script) : '';
}

/** Returns whether a job is plain: without options, or with metadata alone. */
export function isPlain(options: AskedOptions): boolean {
  for (const name in options) {
    if (name !== 'metadata') {
      return false;
    }
  }
  return true;
}

function forScript({
  groupLimits,
  request,
  afterRefusal,
  wasMember,
  ...options
}: AskedOptions): Record<string, unknown> {
  const script: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(options)) {
    const option: JobOption | undefined = JOB_OPTIONS[name as JobOptionName];
    if (typeof option?.script === 'function') {
      Object.assign(script, option.script(value as never));
    } else if (option?.script) {
      script[option.script] = value;
    }
  }
  return {
    ...script,
    ...(groupLimits !== undefined && {
      group_limits: groupLimits ? JSON.stringify(groupArguments(groupLimits)) : '',
    }),
    ...(request !== undefined && { request }),
    ...(wasMember && { was_member: true }),
    ...(afterRefusal && { after_refusal: afterRefusal }),
  };
}

/** Returns the options that the worker reads, as JSON; undefined for none. */
function forWorker(options: AskedOptions): string | undefined {
  const { batch, payloadId, metadata, request } = options;
  const worker: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(options)) {
    const option: JobOption | undefined = JOB_OPTIONS[name as JobOptionName];
    if (option?.worker) {
      worker[option.worker.field] = value;
    }
  }
  if (batch !== undefined) {
    Object.assign(worker, batchFields(batch));
  }
  if (payloadId !== undefined) {
    worker.payloadId = payloadId;
  }
  const fields = Object.keys(worker);
  const own = request !== undefined;
  if (metadata ? fields.length === 1 : own && fields.length === 0) {
    return encodePlainOptions(metadata ?? NO_METADATA, own);
  }
  if (own) {
    worker.own = true;
    fields.push('own');
  }
  return fields.length > 0 ? JSON.stringify(worker) : undefined;
}
