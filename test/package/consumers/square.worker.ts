// The handler that runs in a thread.
import { isMainThread } from 'node:worker_threads';
import type { ThreadJob } from 'nest-job-queue';

export default async function square({
  payload,
}: ThreadJob<number>): Promise<{ value: number; inThread: boolean }> {
  return { value: payload * payload, inThread: !isMainThread };
}
