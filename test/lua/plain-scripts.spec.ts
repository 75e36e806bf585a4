// A plain job on one server must not pay for what others use. So a change of a script on its way is made on purpose.
// To renew a digest, copy the one that the failed test shows. The commit says why each plain job runs other text.
import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { luaScripts } from '#queue/lua.generated.js';

const DIGESTS = {
  jobEnqueue: 'b332745668eb',
  attemptClaim: '3273bfb7c3a3',
  attemptStart: '0a0d96ff9c25',
  attemptExtend: '1334fa6eaf69',
  attemptComplete: '713282568467',
  attemptFail: '45d5981e1bea',
};

it.each(Object.entries(DIGESTS))('%s is the text that was measured last', (name, digest) => {
  const text = luaScripts[name as keyof typeof DIGESTS];
  expect(createHash('sha1').update(text).digest('hex').slice(0, 12)).toBe(digest);
});
