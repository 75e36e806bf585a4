// The tests that need no Redis: `npm run test:unit`. Each is named, so that one that is moved is missed.
import { existsSync } from 'node:fs';
import base from './jest.config.mjs';

const files = [
  'test/bench/report/tables.spec.ts',
  'test/bench/turns/turns.spec.ts',
  'test/inspect/verdict.spec.ts',
  'test/queue/doctor/list-walk.spec.ts',
  'test/queue/model/backoff.spec.ts',
  'test/queue/errors/one-line.spec.ts',
  'test/queue/runtime/random-id.spec.ts',
  'test/queue/schedules/recurrence.spec.ts',
  'test/queue/schedules/ticks.spec.ts',
  'test/scripts/check-imports.spec.ts',
  'test/scripts/build/embed-lua.spec.ts',
  'test/worker/runner/name-filter.spec.ts',
  'test/queue/transport/retrying-transport.spec.ts',
];
for (const file of files) {
  if (!existsSync(file)) throw new Error(`jest.unit.config.mjs: there is no ${file}`);
}

const { globalSetup: _setup, globalTeardown: _teardown, ...withoutServer } = base;

/** @type {import('jest').Config} */
export default { ...withoutServer, testMatch: files.map((file) => `<rootDir>/${file}`) };
