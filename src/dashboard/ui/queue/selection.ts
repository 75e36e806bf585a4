import { useState } from 'preact/hooks';
import type { JobRow } from '../../views/views.js';

export interface Selection {
  ids: ReadonlySet<string>;
  toggle(job: JobRow): void;
  set(ids: Iterable<string>): void;
  clear(): void;
}

/** Returns the jobs that are ticked in a list. */
export function useSelection(): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  return {
    ids,
    toggle: ({ id }) =>
      setIds((before) => {
        const next = new Set(before);
        if (!next.delete(id)) {
          next.add(id);
        }
        return next;
      }),
    set: (chosen) => setIds(new Set(chosen)),
    clear: () => setIds(new Set()),
  };
}
