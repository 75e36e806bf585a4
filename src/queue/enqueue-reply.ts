import { InvalidOptionError, JobQueueError } from './errors.js';
import type { EnqueueAnswer, NewJob } from './hot-path-scripts.js';
import { show } from './names.js';

/** An answer with what only the script can tell of another job that stands. */
export interface StandingAnswer extends EnqueueAnswer {
  /** Its name, where that is not the one that was asked for. */
  name?: string;
}

/** The script wrote nothing of a step, since this job of it would expire before it may start. */
export class RefusedStep extends JobQueueError {
  constructor(
    readonly job: NewJob,
    readonly startsInMs: number,
  ) {
    super(`Job ${job.id} would expire before it may start; nothing of its step was written.`);
  }
}

/** Some clients give numbers as text. */
type Numeric = number | string;
type Reply = [answers: unknown[], names: string[], refused?: [index: Numeric, startsInMs: Numeric]];

/**
 * Decodes the reply of `lua/enqueue.lua` to a step.
 *
 * @param decodeAnswers what its first list says
 * @throws RefusedStep
 */
export function decodeEnqueueReply(
  jobs: readonly NewJob[],
  reply: unknown,
  decodeAnswers: (answers: unknown) => StandingAnswer[],
): StandingAnswer[] {
  const [told, names, refused] = reply as Reply;
  if (refused) {
    const [index, startsInMs] = refused;
    throw new RefusedStep(jobs[Number(index) - 1]!, Number(startsInMs));
  }
  const answers = decodeAnswers(told);
  names.forEach((name, at) => {
    const i = Number(told[3 * at]) - 1;
    if (name !== '' && name !== jobs[i]!.name) {
      answers[i]!.name = name;
    }
  });
  return answers;
}

/** What its caller hears of a refused step. @param subject how errors name the job */
export function faultOf({ job, startsInMs }: RefusedStep, subject: string): InvalidOptionError {
  const { expires_in_ms: expiresInMs } = JSON.parse(job.options) as { expires_in_ms: number };
  return new InvalidOptionError(
    `${subject}.expiresInMs`,
    beforeStart(startsInMs, 'until runAt by the clock of Redis'),
    show(expiresInMs),
  );
}

/** What is expected of `expiresInMs`. */
export function beforeStart(startsInMs: number, of: string): string {
  return `more than the ${startsInMs} ms ${of}, before which it cannot start`;
}
