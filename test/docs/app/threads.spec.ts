// The examples of docs/threads.md, as written.
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import ts from 'typescript';
import { startApp } from '../../nest/app.js';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { exampleOf } from '../example.js';
import { writeExample } from './files.js';

it('the handler counts primes in a thread, with progress and log', async () => {
  const redis = await startOwnRedis();
  const { outputText } = ts.transpileModule(exampleOf('threads.md', 'worker'), {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  const folder = writeExample({
    'primes.handler.ts': exampleOf('threads.md', 'handler'),
    'primes.worker.js': outputText,
  });
  const { PrimesHandler } = (await import(join(folder, 'primes.handler.ts'))) as { PrimesHandler: Type };
  const app = await startApp({ jobs: { redis: redis.url }, providers: [PrimesHandler] });
  const job = await app.get(JobQueueService).enqueue('primes', { below: 10_000 });
  expect(await job.result({ timeoutMs: 15_000 })).toBe(1_229);
  const record = (await job.get())!;
  expect(record.progress).toEqual({ n: 9_000 });
  expect(record.log.map(({ message }) => message)).toEqual(['1229 primes']);
});
