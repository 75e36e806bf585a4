import { describe, expect, it } from '@jest/globals';
import { OldPlace } from '#migrate/queue/places.js';
import { MoverOvertakenError } from '#migrate/queue/transit.js';
import { QueueKeys } from '#queue/scripts/queue-keys.js';
import { connect } from '../../../support/redis/redis.js';
import { newPlaces } from '../../../support/migrate/places.js';
import { newQueue } from '../../../support/worker/workers.js';

describe('migrate/queue/take.lua', () => {
  it('takes jobs of a place in the given order, and leaves a record that says where they are', async () => {
    const { from, old } = await newPlaces();
    for (const id of ['a', 'b', 'c']) await from.enqueue(1, { id });
    expect(await old.take('pending', ['a', 'c', 'gone'])).toEqual(['taken', 'taken', 'broken']);
    expect(await old.take('pending', ['a'])).toEqual(['gone']);
    expect((await from.list('pending')).map(({ id }) => id)).toEqual(['b']);
    expect((await old.inTransit()).map(({ id }) => id)).toEqual(['a', 'c']);
    expect(await from.get('a')).toMatchObject({ status: 'cancelled', lastError: 'The job moved to there.' });
    await old.acknowledge(await old.inTransit());
  });

  it('leaves a job that belongs to another queue, or whose batch, dependent or group is there', async () => {
    const { from, old } = await newPlaces();
    const other = newQueue();
    const batch = from.batch();
    await batch.add('x', 1, { id: 'member' });
    await from.enqueue(1, { id: 'needed' });
    await from.enqueue(1, { id: 'waits', after: ['needed'] });
    const far = other.batch();
    await far.add('x', 1, { id: 'far', queue: from });
    expect(await old.take('pending', ['member', 'needed', 'far'])).toEqual(['batch', 'dependents', 'elsewhere']);
    expect(await old.take('scheduled', ['waits'])).toEqual(['taken']);
    expect(await old.take('pending', ['needed'])).toEqual(['taken']);
    await old.giveBack(await old.inTransit());
    expect((await from.list('pending')).map(({ id }) => id)).toEqual(['needed', 'member', 'far']);
  });

  it('leaves a job that waits for one of another queue', async () => {
    const { from, old } = await newPlaces();
    await from.enqueue(1, { id: 'far', delayMs: 60_000 });
    const keys = new QueueKeys(from.name, {});
    await connect().hset(keys.job('far'), 'after', 'other\tjob');
    expect(await old.take('scheduled', ['far'])).toEqual(['elsewhere']);
  });

  it('notes the hold of a group by a job that it takes, and none of a job whose id is only alike', async () => {
    const { from, old } = await newPlaces();
    for (const id of ['1', '11', 'a1']) await from.enqueue(1, { id, group: 'g' });
    const state = `${new QueueKeys(from.name, {}).groupsPrefix}state:g`;
    await connect().hset(state, 'hold', 'a1');
    expect(await old.take('group', ['1', '11', 'a1'])).toEqual(['taken', 'taken', 'taken']);
    const holds = (await old.inTransit()).map(({ id, entry }) => [id, entry.split('\t').at(-1)]);
    expect(Object.fromEntries(holds)).toEqual({ 1: '', 11: '', a1: 'alive' });
    expect(await connect().hget(state, 'hold')).toBeNull();
  });

  it('is refused once another mover has begun', async () => {
    const { from, old } = await newPlaces();
    await from.enqueue(1, { id: 'a' });
    await (await OldPlace.of(from, 'there')).begin('ada');
    await expect(old.take('pending', ['a'])).rejects.toThrow(MoverOvertakenError);
    expect((await from.list('pending')).map(({ id }) => id)).toEqual(['a']);
  });
});
