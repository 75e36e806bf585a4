import { createHash } from 'node:crypto';
import type { OldScheduler, Source } from './source.js';
import type { ReadScheduler } from './translate-scheduler.js';

/** Returns a scheduler with what makes its jobs. */
export async function readScheduler(source: Source, old: OldScheduler): Promise<ReadScheduler> {
  return Object.keys(old.fields).length > 0 ? ofBullMQ(old) : ofBull(source, old);
}

function ofBullMQ(old: OldScheduler): ReadScheduler {
  const { name = '', data, opts, pattern, every, tz, startDate, endDate, limit, ic } = old.fields;
  // The job of its next time is counted already.
  const left = limit === undefined ? undefined : Number(limit) - Number(ic ?? 1);
  const rule = {
    ...(pattern !== undefined && { pattern }),
    ...(every !== undefined && { every: Number(every) }),
    ...(tz !== undefined && { tz }),
    ...(startDate !== undefined && { startDate: Number(startDate) }),
    ...(endDate !== undefined && { endDate: Number(endDate) }),
    ...(left !== undefined && { left }),
  };
  return { ...old, newId: old.id, name, data, opts, rule };
}

const md5 = (text: string) => createHash('md5').update(text).digest('hex');

/** The repeat options in the hash of Bull's next job. */
interface BullRepeat {
  cron?: string;
  every?: number;
  tz?: string;
  startDate?: string | number;
  endDate?: string | number;
  limit?: number;
  count?: number;
  jobId?: string;
}

/** Reads the rule from the job of the next time. Bull keeps it nowhere else. */
async function ofBull(source: Source, old: OldScheduler): Promise<ReadScheduler> {
  const [name = '', part = ''] = old.id.split(':');
  const jobId = `repeat:${md5(`${name}${part}:${md5(old.id)}`)}:${old.nextMs}`;
  const [next] = await source.jobs('delayed', [[jobId, 0]]);
  const options = JSON.parse(next?.fields.opts ?? '{}') as { repeat?: BullRepeat };
  const { cron, every, tz, endDate, limit, count } = options.repeat ?? {};
  const rule = {
    ...(cron !== undefined && { pattern: cron }),
    ...(every !== undefined && { every }),
    ...(tz !== undefined && { tz }),
    ...(endDate !== undefined && { endDate: new Date(endDate).getTime() }),
    ...(limit !== undefined && { left: limit - (count ?? 1) }),
  };
  // Its id has the whole rule. The name and the job's id are shorter, and unique where Bull's are.
  const newId = (part === '' ? `${name}:${md5(old.id).slice(0, 8)}` : part).replaceAll(/[^\w.:@-]/g, '_');
  return { ...old, newId, name, data: next?.fields.data, opts: next?.fields.opts, rule };
}
