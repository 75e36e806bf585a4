// The rights of a Redis user that docs/reliability.md prints are those that test/faults/acl.spec.ts works with.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { CLUSTER_RIGHTS, DOCTOR_RIGHTS, MINIMAL_RIGHTS } from '../../support/redis/acl.js';

it('docs/reliability.md prints all rights that a queue needs, and no more', () => {
  const text = readFileSync(new URL('../../../docs/reliability.md', import.meta.url), 'utf8');
  const [, printed] = /ACL SETUSER queue on >password ([^`]*)```/.exec(text)!;
  expect(printed!.trim().split(/\s+/).toSorted()).toEqual(MINIMAL_RIGHTS.split(' ').toSorted());
  const told = new Set(text.match(/\+[\w|]+/g));
  expect(`${CLUSTER_RIGHTS} ${DOCTOR_RIGHTS}`.split(' ').filter((right) => !told.has(right))).toEqual([]);
});
