// The article's job: a mail that must be sent.
import { defineJob } from 'nest-job-queue';
import { z } from 'zod';

export const SendEmail = defineJob('send-email', {
  payload: z.object({
    to: z.string(),
    /** The trouble of a job, and the number of attempts that have it. */
    trouble: z.enum(['error', 'crash', 'slow']).optional(),
    times: z.int().min(0).default(0),
  }),
  result: z.object({ sentBy: z.number() }),
  maxAttempts: 3,
});
