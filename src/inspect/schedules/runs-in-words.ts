import type { ScheduleRun } from '../../queue/model/schedule.js';

const WORDS: Readonly<Record<ScheduleRun['status'], string>> = {
  pending: 'its job waits',
  scheduled: 'its job waits for its next attempt',
  processing: 'its job runs',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
  missed: 'missed, without a job',
  kept: 'skipped, because the last job had not ended',
  gone: 'its record is gone',
};

/** Returns how a run of a schedule ended, in words. */
export function runInWords({ status, isByHand }: Pick<ScheduleRun, 'status' | 'isByHand'>): string {
  return `${WORDS[status]}${isByHand ? ', by hand' : ''}`;
}
