// Every example of docs/processes.md, as written.
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { beforeAll, expect, it, jest } from '@jest/globals';
import { Logger, type Type } from '@nestjs/common';
import { JobQueue } from 'nest-job-queue';
import { startOwnRedis } from '../../support/redis/own-redis.js';
import { connect } from '../../support/redis/redis.js';
import { startProcess } from '../../support/browser/shop.js';
import { exampleOf, loadExample } from '../../docs/example.js';
import { writeExample } from '../../docs/app/files.js';

// Each starts several processes, on a machine that also runs the other tests.
jest.setTimeout(120_000);

const LOADER = fileURLToPath(new URL('../../support/typescript.mjs', import.meta.url));

let entry: string;
let url: string;

beforeAll(async () => {
  url = (await startOwnRedis()).url;
  entry = join(writeExample({ 'worker.ts': exampleOf('processes.md', 'entry') }), 'worker.ts');
});

it('the entry file runs the handlers in processes, until a stop signal', async () => {
  const supervisor = startProcess('node', ['--import', LOADER, entry], { REDIS_URL: url });
  const queue = new JobQueue(connect({}, url), 'resize');
  const job = await queue.enqueue({ file: 'mug.png' });
  expect(await job.result({ timeoutMs: 60_000 })).toEqual({ file: 'mug.png', by: expect.any(Number) });
  expect(await supervisor.kill('SIGTERM')).toBe(0);
});

it('the supervisor resizes, kills one, learns of it, and stops all', async () => {
  process.env.REDIS_URL = url;
  process.env.NODE_OPTIONS = `--import ${LOADER}`;
  Logger.overrideLogger(false);
  type NightShift = (module: Type, entry: URL) => Promise<{ running: number; ends: string[]; exitCode: number }>;
  const { nightShift } = (await loadExample('processes.md', 'steering')) as { nightShift: NightShift };
  expect(await nightShift(class {}, pathToFileURL(entry))).toEqual({
    running: 2,
    ends: [
      'worker-1 ended by SIGKILL',
      expect.stringMatching(/^worker-[12] ended by 0$/),
      expect.stringMatching(/^worker-[12] ended by 0$/),
    ],
    exitCode: 0,
  });
});
