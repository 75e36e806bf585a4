// Watches between steps whether more jobs run than the limits allow.
import type { Redis } from 'ioredis';
import type { QueueCalls } from '#queue/scripts/all-calls.js';
import { claimsByGroup } from './group-invariants.js';

/** A lowered limit ends no claim. So only a step that adds claims beyond a limit is a fault. */
export class SlotWatch {
  private before = new Map<string, number>();

  /** Returns descriptions of the faults since the last look. */
  async look(redis: Redis, { keys }: QueueCalls): Promise<string[]> {
    const held = new Map([['the queue', await redis.zcard(keys.claims)]]);
    const most = new Map([['the queue', await redis.hget(keys.settings, 'max_running')]]);
    const forAll = await redis.hget(`${keys.groupsPrefix}settings`, 'max_running');
    for (const [group, ids] of await claimsByGroup(redis, keys.claims, (id) => keys.job(id))) {
      const name = `group ${group}`;
      held.set(name, ids.length);
      most.set(name, (await redis.hget(`${keys.groupsPrefix}state:${group}`, 'max_running')) ?? forAll);
    }
    const faults = [...held].filter(([name, count]) => {
      const isMore = count > (this.before.get(name) ?? 0);
      return isMore && count > Number(most.get(name) ?? Infinity);
    });
    this.before = held;
    return faults.map(([name, count]) => `${name}: ${count} claims are held, and maxRunning is ${most.get(name)}`);
  }
}
