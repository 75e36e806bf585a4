import { useState } from 'preact/hooks';
import type { JobRow } from '../../views/views.js';

export interface Selection {
  ids: ReadonlySet<string>;
  toggle(job: JobRow): void;
  set(ids: Iterable<string>): void;
  clear(): void;
}

/** The last selection, so that it is there again after a look at one of its jobs. */
let kept: { list: string; ids: ReadonlySet<string> } = { list: '', ids: new Set() };

/** Returns the jobs that are ticked in a list. @param list which one it is */
export function useSelection(list: string): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(() => (kept.list === list ? kept.ids : new Set()));
  const set = (chosen: ReadonlySet<string>) => {
    kept = { list, ids: chosen };
    setIds(chosen);
  };
  return {
    ids,
    toggle: ({ id }) => {
      const next = new Set(kept.list === list ? kept.ids : ids); // a second tick may come before the next render
      if (!next.delete(id)) {
        next.add(id);
      }
      set(next);
    },
    set: (chosen) => set(new Set(chosen)),
    clear: () => set(new Set()),
  };
}
