import { defineJob } from 'nest-job-queue';
import { z } from 'zod';

/** A result of the laboratory, as it sends it. */
export const ImportLabResult = defineJob('lab-result', {
  payload: z.object({
    animal: z.string().min(1),
    values: z.record(z.string(), z.number()),
  }),
  result: z.object({ abnormal: z.array(z.string()) }),
  queue: 'records',
});

export const AnonymizeRecord = defineJob('anonymize', {
  payload: z.object({ animal: z.string() }),
  queue: 'records',
});
