// How scripts get the options of a job: as JSON. A part of it is the text for the worker, which no script reads.
import { JOB_OPTIONS, type JobOption, type JobOptionName } from '../model/job-options.js';
import { encodePlainOptions } from '../model/metadata.js';
import type { AskedOptions } from '../store/asked-options.js';
import { batchFields } from '../store/job-ref.js';
import { groupArguments } from './encode-limits.js';

/** Returns the options as `lua/job/enqueue.lua` reads them; '' for none. */
export function encodeJobOptions(options: AskedOptions | undefined): string {
  if (options === undefined) {
    return '';
  }
  const script = forScript(options);
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
  const { batch, payloadId, metadata } = options;
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
  if (fields.length === 1 && metadata) {
    return encodePlainOptions(metadata);
  }
  return fields.length > 0 ? JSON.stringify(worker) : undefined;
}
