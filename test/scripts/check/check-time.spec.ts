import { expect, it } from '@jest/globals';
import { checkTime } from '../../../scripts/check/check-time.mjs';
import { folderWith } from '../folder.js';

it('names the calls of the process clock in queues and workers', () => {
  const src = folderWith({
    'queue/enqueue/a.ts': 'const at = Date.now();\n',
    'worker/b.ts': '/** As setTimeout(…). */\nsetTimeout(() => {}, 5);\nclock.setTimeout(() => {}, 5);\n',
    'worker/c.ts': 'const share = Math.random() * performance.now();\n',
  });
  expect(checkTime(src)).toEqual([
    'queue/enqueue/a.ts:1: take Date.now from the clock of the store',
    'worker/b.ts:2: take setTimeout from the clock of the store',
    'worker/c.ts:1: take Math.random from the clock of the store',
    'worker/c.ts:1: take performance.now from the clock of the store',
  ]);
});

it('leaves real connections and code above the seam alone', () => {
  const src = folderWith({ 'queue/redis/a.ts': 'setTimeout(cut, 5);\n', 'nest/a.ts': 'Date.now();\n' });
  expect(checkTime(src)).toEqual([]);
});
