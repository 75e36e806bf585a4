import { Writable } from 'node:stream';
import { expect, it } from '@jest/globals';
import { Progress } from '#cli/progress.js';
import { gate } from '../support/faults/wait.js';

it('a bar is gone after the work, also if a count comes late', async () => {
  const shown: string[] = [];
  const write = (text: string, _encoding: string, next: () => void) => (shown.push(text), next());
  const terminal = Object.assign(new Writable({ write, decodeStrings: false }), { isTTY: true as const });
  const [work, asked, counted] = [gate(), gate(), gate<number>()];
  const over = new Progress(terminal, false).during(work.promise, 'redriven', 10, () => {
    asked.open();
    return counted.promise;
  });
  await asked.promise;
  work.open();
  await over;
  counted.open(5);
  await new Promise(setImmediate);
  expect(shown).toEqual(['\r\u001B[K']);
});
