import { z } from 'zod';
import type { JobRecord } from '../../queue/model/job.js';
import type { JobMatch } from '../views/views.js';
import { kindOf } from './error-groups.js';

export const matchSchema = z.strictObject(
  {
    text: z.string({ error: 'expected text' }).max(500, 'expected text of at most 500 characters').optional(),
    group: z.string({ error: 'expected text' }).max(500, 'expected text of at most 500 characters').optional(),
  },
  { error: 'expected an object with text, group' },
);

/** Returns whether a job matches: its id, name, group, metadata or error has the text, in either case. */
export function matches(job: JobRecord, { text, group }: JobMatch): boolean {
  if (group !== undefined && kindOf(job) !== group) {
    return false;
  }
  const wanted = text?.trim().toLowerCase();
  return !wanted || searchedTexts(job).some((each) => each.toLowerCase().includes(wanted));
}

function searchedTexts(job: JobRecord): string[] {
  return [
    job.id,
    job.name,
    job.lastError ?? '',
    job.schedule ?? '',
    job.group ?? '',
    ...Object.entries(job.metadata ?? {}).map(([key, value]) => `${key}: ${value}`),
  ];
}
