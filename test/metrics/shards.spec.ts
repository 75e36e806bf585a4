// The figures of a queue with shards: of all together, and of each.
import { expect, it } from '@jest/globals';
import { JobMetrics } from 'nest-job-queue/metrics';
import promClient from 'prom-client';
import type { MeasuredQueue } from '#metrics/fleet-reader.js';
import { shardNames } from '#queue/model/spread.js';
import { newQueue } from '../support/worker/workers.js';

const [FIRST, SECOND, THIRD] = shardNames('ingest', 3) as [string, string, string];

/** Returns three shards, of which the third may be away, and an ordinary queue. */
async function queues({ isAway = false } = {}): Promise<MeasuredQueue[]> {
  const stats = await newQueue().stats();
  const shard = (name: string, pending: number, ageMs: number): MeasuredQueue => ({
    name,
    stats: () =>
      Promise.resolve({ ...stats, pending, oldestPendingAgeMs: ageMs, oldestUnheldAgeMs: ageMs, workers: 2 }),
    workers: () => Promise.resolve([{ slots: 10 }]),
  });
  const away = { name: THIRD, stats: () => Promise.reject(new Error('away')) };
  return [shard(FIRST, 1, 1_000), shard(SECOND, 2, 9_000), isAway ? away : shard(THIRD, 3, 0), shard('mail', 5, 0)];
}

async function read(options: ConstructorParameters<typeof JobMetrics>[0]): Promise<string[]> {
  const registry = new promClient.Registry();
  new JobMetrics(options).toPrometheus(promClient, registry);
  return (await registry.metrics()).split('\n');
}

it('a queue has the sum of the jobs of its shards, and the longest age', async () => {
  const lines = await read({ queues: await queues() });
  expect(lines).toContain('job_queue_depth{queue="ingest",state="pending"} 6');
  expect(lines).toContain('job_queue_depth{queue="mail",state="pending"} 5');
  expect(lines).toContain('job_queue_oldest_pending_age_seconds{queue="ingest"} 9');
  expect(lines).toContain('job_queue_workers{queue="ingest"} 2');
  expect(lines).toContain('job_queue_up{queue="ingest"} 1');
  expect(lines.filter((line) => line.includes('ingest@') || line.includes('shard='))).toEqual([]);
});

it('is down if a shard is', async () => {
  const measured = await queues({ isAway: true });
  const lines = await read({ queues: measured });
  expect(lines).toContain('job_queue_up{queue="ingest"} 0');
  expect(lines).toContain('job_queue_depth{queue="ingest",state="pending"} 3');
  expect(Object.keys(await new JobMetrics({ queues: measured }).scalingReport())).toEqual(['mail']);
});

it('has a label for each shard if that is asked for, and the report of an autoscaler has none', async () => {
  const options = { queues: await queues(), shards: true };
  const lines = await read(options);
  expect(lines).toContain('job_queue_depth{queue="ingest",state="pending",shard="0"} 1');
  expect(lines).toContain('job_queue_depth{queue="ingest",state="pending",shard="2"} 3');
  expect(lines).toContain('job_queue_depth{queue="mail",state="pending"} 5');
  const report = await new JobMetrics(options).scalingReport();
  expect(report).toEqual({
    ingest: { oldestAgeSeconds: 9, waiting: 6, running: 0, slots: 10 },
    mail: { oldestAgeSeconds: 0, waiting: 5, running: 0, slots: 10 },
  });
});
