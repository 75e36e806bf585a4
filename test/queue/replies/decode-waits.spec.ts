import { expect, it } from '@jest/globals';
import { decodeWaits } from '#queue/replies/decode-job.js';

it.each([
  ['', 'open'],
  ['answered', 'answered'],
  ['over', 'over'],
  ['of another program', 'over'],
])('decodes the state %j of a wait as %s', (stored, state) => {
  expect(decodeWaits(`ok\tsignal\t1\t\t${stored}\n`)).toMatchObject([{ name: 'ok', state }]);
});
