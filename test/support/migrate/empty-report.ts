import { newReport, type MoveReport } from '#migrate/move-report.js';

/** Returns the report of a move that has done nothing yet. */
export function emptyReport(): MoveReport {
  return newReport({ from: '', to: '', source: '' });
}
