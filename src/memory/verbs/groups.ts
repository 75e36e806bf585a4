// The groups of a queue; see lua/group.
import type { GroupVerbs } from '../../queue/store/verbs/group-verbs.js';
import { storedGroupLimits } from './stored-limits.js';
import { newPause, pauseAt } from '../state/pause.js';
import { arrivalOf } from '../state/head-by-turn.js';
import { callOf } from './memory-call.js';
import type { MemoryQueue } from '../state/memory-queue.js';
import { extendPause } from './operate/extend-pause.js';
import { remove } from './operate/operate.js';

export function groupVerbs(queue: MemoryQueue): GroupVerbs {
  const arrivalOfHead = (name: string) => arrivalOf(queue.job(queue.flow.waitingOf(name)[0]!)!);
  const wake = () => queue.host.wake(queue.name);
  return {
    list: ({ by, offset, limit }) =>
      callOf('groupList', () => {
        const names = [...queue.flow.groups.keys()].filter((name) => name !== '');
        const all = names.map((name) => queue.flow.stats(name));
        const found = all.filter(({ pending, running }) => pending > 0 || (by === 'depth' && running > 0));
        const sorted = found.toSorted((a, b) =>
          by === 'depth'
            ? b.pending - a.pending || Buffer.compare(Buffer.from(b.name), Buffer.from(a.name)) // as ZRANGE … REV does
            : arrivalOfHead(a.name) - arrivalOfHead(b.name),
        );
        return sorted.slice(offset, offset + limit);
      }),
    named: (names) => callOf('groupList', () => names.map((name) => queue.flow.stats(name))),
    set: (name, limits) =>
      callOf('groupSet', () => {
        queue.flow.setGroup(name, storedGroupLimits(limits));
        wake();
      }),
    clear: (name) =>
      callOf('groupClear', () => {
        const group = queue.flow.group(name);
        queue.flow.setGroup(name, undefined);
        delete group.hold;
        group.restsUntil = 0;
        wake();
      }),
    pause: (name, options) =>
      callOf('groupPause', () => {
        const group = queue.flow.group(name);
        const changes = pauseAt(group.pause, queue.now) === undefined;
        if (changes) {
          group.pause = newPause(options, queue.now);
        }
        return changes;
      }),
    extendPause: (name, knownEndMs, forMs) =>
      callOf('groupExtendPause', () => extendPause(queue.flow.group(name), { knownEndMs, forMs, now: queue.now })),
    resume: (name) =>
      callOf('groupResume', () => {
        const group = queue.flow.group(name);
        const changes = pauseAt(group.pause, queue.now) !== undefined;
        delete group.pause;
        wake();
        return changes;
      }),
    clean: (name, olderThanMs, limit) =>
      callOf('groupClean', () => {
        const latest = queue.now - olderThanMs;
        const old = queue.flow.waitingOf(name).filter((id) => Number(queue.job(id)?.ready_at_ms ?? 0) <= latest);
        const slice = old.slice(0, limit);
        slice.forEach((id) => remove(queue, id));
        return { deleted: slice.length, next: old.length > limit ? 0 : undefined };
      }),
  };
}
