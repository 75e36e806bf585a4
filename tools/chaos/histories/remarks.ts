// The histories beside the jobs: faults, damage, repairs, and the work of scripts.
import type { Entry } from './history.js';

type Remark = Extract<
  Entry,
  ['damage' | 'undamaged' | 'repaired' | 'script' | 'slow' | 'fault' | 'healed', ...unknown[]]
>;

export class Remarks {
  readonly faults: { kind: string; beganMs: number; healedMs: number }[] = [];
  /** Jobs and unique keys that the run misplaced. */
  readonly damaged = new Set<string>();
  /** The doctor's findings. */
  readonly repaired: { kind: string; subject: string; found: string }[] = [];
  /** Calls of scripts that did much. */
  readonly scripts: { name: string; args: number; commands: number }[] = [];
  /** Calls of scripts that took the server long. */
  readonly slow: { name: string; ms: number; atMs: number }[] = [];

  add(remark: Remark, nowMs: number): void {
    switch (remark[0]) {
      case 'damage':
        this.damaged.add(remark[2]);
        return;
      case 'undamaged':
        this.damaged.delete(remark[1]);
        return;
      case 'repaired':
        this.repaired.push({ kind: remark[1], subject: remark[2], found: remark[3] });
        return;
      case 'script':
        this.scripts.push({ name: remark[1], args: remark[2], commands: remark[3] });
        return;
      case 'slow':
        this.slow.push({ name: remark[1], ms: remark[2], atMs: remark[3] });
        return;
      case 'fault':
        this.faults.push({ kind: remark[1], beganMs: nowMs, healedMs: nowMs });
        return;
      default:
        this.faults.at(-1)!.healedMs = nowMs;
    }
  }
}
