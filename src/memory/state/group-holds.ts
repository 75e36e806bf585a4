// The jobs that hold back their groups; see lua/lib/group/slot.lua.
import type { GroupLimits } from '../../queue/model/limits.js';
import type { GroupState } from './group-state.js';
import type { ScoredSet } from './scored-set.js';

/** The groups of a queue, with their settings. */
interface Groups {
  readonly groups: ReadonlyMap<string, GroupState>;
  group(name: string): GroupState;
  limitsOf(name: string): GroupLimits;
}

export class GroupHolds {
  constructor(
    private readonly queue: { readonly dead: ScoredSet; readonly scheduled: ScoredSet },
    private readonly flow: Groups,
  ) {}

  /**
   * Returns the job that an ordered group waits for, before its retry or as a dead letter by option. By the settings of
   * now.
   */
  holderOf(name: string): string | undefined {
    const { maxRunning, onDeadHead } = this.flow.limitsOf(name);
    const hold = this.flow.groups.get(name)?.hold;
    if (!hold || maxRunning !== 1) {
      return undefined;
    }
    const holds = hold.isDead
      ? onDeadHead === 'hold' && this.queue.dead.has(hold.id)
      : this.queue.scheduled.has(hold.id);
    return holds ? hold.id : undefined;
  }

  /** Lets a retrying or dead job hold back its group, if that runs one job at a time. */
  hold(id: string, { group: name }: Record<string, string>, isDead = false): void {
    if (name === undefined) {
      return;
    }
    this.endHold(id, name);
    const { maxRunning, onDeadHead } = this.flow.limitsOf(name);
    if (maxRunning === 1 && (!isDead || onDeadHead === 'hold') && this.holderOf(name) === undefined) {
      this.flow.group(name).hold = { id, isDead };
    }
  }

  endHold(id: string, name: string | undefined): void {
    const group = name === undefined ? undefined : this.flow.groups.get(name);
    if (group?.hold?.id === id) {
      delete group.hold;
    }
  }
}
