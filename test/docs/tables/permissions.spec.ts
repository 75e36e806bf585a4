// The permissions of a Redis user that docs/redis.md prints are those that test/faults/acl.spec.ts works with.
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { CLUSTER_PERMISSIONS, DOCTOR_PERMISSIONS, MINIMAL_PERMISSIONS } from '../../support/redis/acl.js';

it('docs/redis.md prints all permissions that a queue needs, and no more', () => {
  const text = readFileSync(new URL('../../../docs/redis.md', import.meta.url), 'utf8');
  const [, printed] = /ACL SETUSER queue on >password ([^`]*)```/.exec(text)!;
  expect(printed!.trim().split(/\s+/).toSorted()).toEqual(MINIMAL_PERMISSIONS.split(' ').toSorted());
  const told = new Set(text.match(/\+[\w|]+/g));
  expect(
    `${CLUSTER_PERMISSIONS} ${DOCTOR_PERMISSIONS}`.split(' ').filter((permission) => !told.has(permission)),
  ).toEqual([]);
});
