import type { DashboardSubject } from '../dashboard-options.js';

/** A subject for `can`, and whether its `id` was read. */
interface WatchedSubject {
  subject: DashboardSubject;
  isIdRead(): boolean;
}

/** Returns a copy of the subject that notices reads of its `id`, also of a missing one. */
export function watchedSubject(subject: DashboardSubject): WatchedSubject {
  let isRead = false;
  const noticed = <Result>(isId: boolean, result: Result): Result => {
    isRead ||= isId;
    return result;
  };
  const watched = new Proxy(
    { ...subject },
    {
      get: (target, key) => noticed(key === 'id', Reflect.get(target, key)),
      has: (target, key) => noticed(key === 'id', Reflect.has(target, key)),
      ownKeys: (target) => noticed(true, Reflect.ownKeys(target)),
      getOwnPropertyDescriptor: (target, key) =>
        noticed(key === 'id', Reflect.getOwnPropertyDescriptor(target, key)),
    },
  );
  return { subject: watched, isIdRead: () => isRead };
}
