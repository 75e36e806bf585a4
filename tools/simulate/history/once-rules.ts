// Jobs whose senders keep them in a table: each row becomes one job.
import type { Fault } from './known.js';

export class OnceRules {
  private readonly rows = new Set<string>();
  private readonly added = new Set<string>();

  constructor(private readonly fault: Fault) {}

  /** Called when a row was written. @param id of its job */
  row(id: string): void {
    this.rows.add(id);
  }

  /** Checks that a row makes one job. Its id alone is no obstacle, because the job may have been removed. */
  enqueued(id: string): void {
    if (this.rows.has(id) && this.added.has(id)) {
      this.fault(`once: the row of ${id} made two jobs`);
    }
    this.added.add(id);
  }

  /** Called when a row was deleted, because its job is there. */
  sent(id: string): void {
    if (!this.added.has(id)) {
      this.fault(`once: the row of ${id} made no job`);
    }
  }
}
