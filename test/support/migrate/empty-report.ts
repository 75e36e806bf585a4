import type { MoveReport } from '#migrate/move-report.js';

/** Returns the report of a move that has done nothing yet. */
export function emptyReport(): MoveReport {
  return {
    from: '',
    to: '',
    source: '',
    moved: {},
    deduplicated: 0,
    deleted: 0,
    schedules: [],
    settings: [],
    left: [],
    dropped: {},
    remaining: {},
    unhandled: [],
  };
}
