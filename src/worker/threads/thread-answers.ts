// What the main thread does for a handler in a thread, by its messages.
import { JobDefinition } from '../../queue/enqueue/define-job.js';
import { stateErrorIn } from '../../queue/errors/redis-errors.js';
import type { JobHandle } from '../../queue/results/job-handle.js';
import { CHECKED } from '../../queue/validation/validate-with-schema.js';
import type { Job } from '../handlers/job.js';
import type { ThreadMember } from './thread-job.js';
import { portable, receivedValue, type SentJob, type SentMember, type SentValue } from './thread-values.js';

/** A message of a thread that waits for an answer. */
export type Question = { ask: number } & (
  | ({ type: 'progress' | 'checkpoint' } & SentValue)
  | { type: 'log'; message: string }
  | ({ type: 'stream'; isBytes: boolean } & SentValue)
  | { type: 'batch.status' | 'batch.wait' | 'batch.results'; options?: object }
  | { type: 'batch.add'; job: SentJob; payload: SentValue; options: object }
  | { type: 'batch.addMany'; job: SentJob; members: SentMember[]; options: object }
);

/** Does what a thread asks for, and returns the answer. @throws the error of the call */
export async function answerOf(job: Job, question: Question): Promise<unknown> {
  switch (question.type) {
    case 'log':
      return job.log(question.message);
    case 'stream': {
      const chunk = receivedValue(question);
      return job.stream.write(question.isBytes ? Buffer.from(chunk as string, 'base64') : chunk);
    }
    case 'batch.status':
      return job.batch!.status();
    case 'batch.wait':
      return job.batch!.wait(question.options);
    case 'batch.results':
      return job.batch!.results(question.options);
    case 'batch.add': {
      const payload = receivedValue(question.payload);
      return memberOf(await job.batch!.add(jobOf(question.job), payload, question.options));
    }
    case 'batch.addMany': {
      const members = question.members.map(({ payload, options }) => ({
        ...options,
        payload: receivedValue(payload),
      }));
      return (await job.batch!.addMany(jobOf(question.job), members, question.options)).map(memberOf);
    }
    default:
      return job[question.type](receivedValue(question));
  }
}

/**
 * Returns an error as data: its name, its message, and what it has besides, such as its code. Of causes it has only the
 * refusal by the state of Redis, which decides about the job.
 */
export function errorData(error: Error): object {
  const { name, message } = error;
  const fields = Object.entries(error).filter(([, value]) => isData(value));
  const cause = stateErrorIn(error.cause);
  return {
    ...Object.fromEntries(fields.map(([key, value]) => [key, portable(value)])),
    name,
    message,
    ...(cause && { cause: { name: cause.name, message: cause.message } }),
  };
}

/** Returns the name, or a definition whose payloads the thread has checked. */
function jobOf({ name, defaults }: SentJob): string | JobDefinition {
  return defaults ? new JobDefinition(name as string, { ...defaults, payload: CHECKED }) : (name as string);
}

function memberOf({ id, name, queue, outcome }: JobHandle): ThreadMember {
  return { id, name, queue, outcome };
}

function isData(value: unknown): boolean {
  return Array.isArray(value) || !['object', 'function', 'symbol'].includes(typeof value);
}
