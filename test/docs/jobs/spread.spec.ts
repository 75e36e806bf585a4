// The example of docs/scaling.md as written.
import { expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobQueueService, type JobHandle } from 'nest-job-queue';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { loadExample } from '../example.js';

interface Example {
  SensorModule: Type;
  IngestHandler: Type<{ last: Map<string, number> }>;
  Sensors: Type<{
    read(sensor: string, value: number): Promise<JobHandle>;
    discard(id: string): Promise<string>;
    redrive(): Promise<void>;
  }>;
}

it('keeps the order of each sensor over eight shards, and finds a job by its id', async () => {
  process.env.REDIS_URL = (await startOwnRedis()).url;
  const { SensorModule, IngestHandler, Sensors } = await loadExample<Example>('scaling.md', 'spread');
  const app = await NestFactory.createApplicationContext(SensorModule, { logger: false });
  const sensors = app.get(Sensors);
  const handles: JobHandle[] = [];
  for (let value = 0; value < 5; value++) {
    for (const sensor of ['a', 'b', 'c', 'd', 'e']) handles.push(await sensors.read(sensor, value));
  }
  await Promise.all(handles.map((handle) => handle.result()));
  expect([...app.get(IngestHandler).last.values()]).toEqual([4, 4, 4, 4, 4]);
  expect(new Set(handles.map(({ queue }) => queue)).size).toBeGreaterThan(1);
  expect(await sensors.discard(handles[0]!.id)).toBe('removed');
  await sensors.redrive();
  expect(app.get(JobQueueService).shards('ingest')).toHaveLength(8);
  await app.close();
}, 40_000);
