import type { ClaimRef, JobStatus } from '../../model/job.js';
import type { ScriptCall } from '../../transport/script-runner.js';
import type { RestartAnswer, UpdateAnswer } from '../../store/call-answers.js';
import { FleetCalls } from './fleet-calls.js';
import { call } from '../script-call.js';

/** Builds the calls that change one job: from outside, and from its handler. */
export class SingleJobCalls extends FleetCalls {
  remove(id: string, ifStatus: JobStatus | '' = ''): ScriptCall<'removed' | 'processing' | 'missing' | 'changed'> {
    return call('jobRemove', this.keys.standard, [id, ifStatus], (reply) => reply as 'removed');
  }

  promoteJob(id: string): ScriptCall<RestartAnswer> {
    return call('jobPromote', this.keys.standard, [id], (reply) => reply as RestartAnswer);
  }

  update(id: string, payload: string, name = ''): ScriptCall<UpdateAnswer> {
    return call('jobUpdate', this.keys.standard, [id, payload, name], (reply) => reply as UpdateAnswer);
  }

  setPriority(id: string, priority: number): ScriptCall<UpdateAnswer> {
    return call('jobSetPriority', this.keys.standard, [id, priority], (reply) => reply as UpdateAnswer);
  }

  runAgain(id: string, request: string): ScriptCall<RestartAnswer> {
    return call('jobRunAgain', this.keys.standard, [id, request], (reply) => reply as RestartAnswer);
  }

  /** Returns in how many ms the start would be, and the expiry, where the job would have expired by then. */
  reschedule(id: string, start: { delayMs: number } | { runAtMs: number }) {
    const args = 'delayMs' in start ? [id, start.delayMs, ''] : [id, '', start.runAtMs];
    return call('jobReschedule', this.keys.standard, args, (reply) => {
      if (Array.isArray(reply)) {
        const [startsInMs, expiresInMs] = (reply as number[]).map(Number);
        return { startsInMs: startsInMs!, expiresInMs: expiresInMs! };
      }
      return reply as 'scheduled' | 'pending' | 'refused' | 'missing';
    });
  }

  /** Returns whether the claim was current. */
  progress({ id, token }: Pick<ClaimRef, 'id' | 'token'>, progress: string): ScriptCall<boolean> {
    return call(
      'attemptProgress',
      this.keys.standard,
      [id, token, progress, this.options.events],
      (reply) => Number(reply) === 1,
    );
  }

  /** Returns whether the claim was current. */
  checkpoint({ id, token }: Pick<ClaimRef, 'id' | 'token'>, checkpoint: string): ScriptCall<boolean> {
    return call('attemptCheckpoint', this.keys.standard, [id, token, checkpoint], (reply) => Number(reply) === 1);
  }

  /** Returns whether the claim was current. */
  log({ id, token }: Pick<ClaimRef, 'id' | 'token'>, keep: number, lines: readonly string[]): ScriptCall<boolean> {
    return call('attemptLog', this.keys.standard, [id, token, keep, ...lines], (reply) => Number(reply) === 1);
  }
}
