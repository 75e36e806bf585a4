// The jobs of the article. Whoever enqueues and whoever handles share these lines.
import { defineJob } from 'nest-job-queue';
import { z } from 'zod';

/** Sleeps, and returns nothing. */
export const Sleep = defineJob('sleep', { payload: z.object({ ms: z.number() }), maxAttempts: 2 });

/** The n-th Fibonacci number, in decimal digits: JSON has no integers of that size. */
export const Fibonacci = defineJob('fibonacci', {
  payload: z.object({ n: z.int().min(0) }),
  result: z.string().regex(/^\d+$/),
});
