// What the histories say of the jobs of schedules, which have no producer: one for each id.
import type { Settlement } from './history.js';

export interface Tick {
  completions: number;
  /** Fences of attempts that ended well and of whose settlement nothing was heard. */
  doubts: Set<number>;
  /** False where all that was heard of it came from a server that may have forgotten it since. */
  sure: boolean;
  /** When the tick was made, by the server's clock: the last time, where a server that stood in for another made it again. */
  madeMs?: number;
}

export class Ticks {
  readonly all = new Map<string, Tick>();

  /** @param sure what was answered then still holds */
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
