import { useState } from 'preact/hooks';
import type { JobRow } from '../../views/views.js';

export interface Selection {
  /** The jobs by their ids. */
  jobs: ReadonlyMap<string, JobRow>;
  toggle(job: JobRow): void;
  clear(): void;
}

/** The last selection, so that it is there again after a look at one of its jobs. */
let kept: { list: string; jobs: ReadonlyMap<string, JobRow> } = { list: '', jobs: new Map() };

/** Returns the jobs that are ticked in a list. @param list which one it is */
export function useSelection(list: string): Selection {
  const [jobs, setJobs] = useState<ReadonlyMap<string, JobRow>>(() => (kept.list === list ? kept.jobs : new Map()));
  const set = (chosen: ReadonlyMap<string, JobRow>) => {
    kept = { list, jobs: chosen };
    setJobs(chosen);
  };
  return {
    jobs,
    toggle: (job) => {
      const next = new Map(kept.list === list ? kept.jobs : jobs); // a second tick may come before the next render
      if (!next.delete(job.id)) {
        next.set(job.id, job);
      }
      set(next);
    },
    clear: () => set(new Map()),
  };
}
