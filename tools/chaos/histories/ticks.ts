// The jobs of schedules, which have no producer, by id.
import type { Settlement } from './history.js';

export interface Tick {
  completions: number;
  /** Fences of attempts that ended well and whose settlement got no reply. */
  doubts: Set<number>;
  /** False if all its reports came from a server that may have lost it since. */
  sure: boolean;
  /** The time when the tick was last made, by the server's clock. A failover may make it again. */
  madeMs?: number;
}

export class Ticks {
  readonly all = new Map<string, Tick>();

  /** @param sure the reply still holds */
  add(what: 'start' | 'ok' | Settlement, id: string, fence: number, sure: boolean, madeMs?: number): void {
    let tick = this.all.get(id);
    if (!tick) this.all.set(id, (tick = { completions: 0, doubts: new Set(), sure: false }));
    if (madeMs !== undefined) tick.madeMs = Math.max(tick.madeMs ?? 0, madeMs);
    tick.sure ||= sure && what !== 'ok' && what !== 'lost';
    if (what === 'ok' || (what === 'completed' && !sure)) tick.doubts.add(fence);
    else tick.doubts.delete(fence);
    if (what === 'completed' && sure) tick.completions++;
  }
}
