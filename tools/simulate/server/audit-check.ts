// Checks the audit trail: each entry of a job begins where the one before ended.
import { toBytes, toText } from '#memory/lua/values.js';
import type { QueueView } from '#memory/server/observed-server.js';

export class AuditCheck {
  /** The number of entries that were read, by queue. */
  private readonly read = new Map<string, number>();
  /** The last status of each job, by queue and id. */
  private readonly last = new Map<string, string>();

  /** Reads the new entries. Returns descriptions of what is wrong. */
  look(queue: QueueView): string[] {
    const { keys, server, name } = queue;
    const { entries = [] } = server.keys.read(toBytes(keys.audit), 'stream') ?? {};
    const faults: string[] = [];
    for (const { fields } of entries.slice(this.read.get(name) ?? 0)) {
      const of = (field: string) => toText(fields[fields.indexOf(field) + 1]!);
      const [id, from, to] = [of('id'), of('from'), of('to')];
      const before = this.last.get(`${name} ${id}`) ?? '';
      // A record that expired, or that somebody deleted, has no entry for that.
      if (from !== before && from !== '') {
        faults.push(`audit: ${id} went from ${from} to ${to}, and was ${before || 'unknown'} before`);
      }
      this.last.set(`${name} ${id}`, to);
    }
    this.read.set(name, entries.length);
    return faults;
  }
}
