import type { PayloadOf, ThreadJob } from 'nest-job-queue';
import type { Fibonacci } from './jobs.js';

/** Adds the numbers up, as in the article. */
export default function fibonacci({ payload }: ThreadJob<PayloadOf<typeof Fibonacci>>): string {
  let [current, next] = [0n, 1n];
  for (let i = 0; i < payload.n; i++) {
    [current, next] = [next, current + next];
  }
  return current.toString();
}
