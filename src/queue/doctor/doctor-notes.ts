import type { DoctorFinding, DoctorKind, DoctorReport } from '../model/doctor-report.js';
import type { WrongKey } from '../errors/redis-errors.js';
import type { Fault } from '../verbs/doctor.js';

/** The most faults that a report lists one by one. */
const MOST_FINDINGS = 1_000;

/** A report while it is written. */
export class DoctorNotes {
  checked = 0;
  private readonly counts: DoctorReport['counts'] = {};
  private readonly findings: DoctorFinding[] = [];
  private readonly startedAt = performance.now();

  constructor(
    private readonly queue: string,
    private readonly repaired: boolean,
  ) {}

  add(faults: readonly Fault[]): void {
    for (const { kind, ...rest } of faults) {
      const known = kind as DoctorKind;
      this.counts[known] = (this.counts[known] ?? 0) + 1;
      if (this.findings.length < MOST_FINDINGS) {
        this.findings.push({ kind: known, repaired: this.repaired, ...rest });
      }
    }
  }

  /** Adds keys of a wrong type. No repair changes them. */
  addWrongKeys(wrong: readonly WrongKey[]): void {
    this.add(wrong.map(({ key, ...found }) => ({ ...found, subject: key, kind: 'type', repaired: false })));
  }

  /** Returns whether faults of a kind were added. */
  has(kind: DoctorKind): boolean {
    return this.counts[kind] !== undefined;
  }

  get report(): DoctorReport {
    const { queue, checked, counts, findings, startedAt } = this;
    return { queue, checked, counts, findings, durationMs: Math.round(performance.now() - startedAt) };
  }
}

/** Returns the report of a queue that cannot be audited, because these keys have a wrong type. */
export function wrongKeysReport(queue: string, wrong: readonly WrongKey[]): DoctorReport {
  const notes = new DoctorNotes(queue, false);
  notes.addWrongKeys(wrong);
  return notes.report;
}
