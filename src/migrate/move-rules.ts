import type { StoredBackoff } from '../queue/model/backoff.js';
import { PLACES, type Place } from './bullmq-source.js';

/** The names of jobs here for names there; `*` stands for every other name. */
type NameMap = ReadonlyMap<string, string>;

/** How the priorities of a queue are translated. */
export type PriorityRule =
  /** No job has a priority. */
  | { kind: 'none' }
  /** Every job has a priority, or in Bull jobs without come last as well. */
  | { kind: 'reversed'; isNoneLast: boolean }
  /** Jobs without a priority came first there. They get the first number; those with one get less. */
  | { kind: 'below'; none: number; named: ReadonlyMap<number, number> };

/** What an operator decides about a move. */
export interface MoveRules {
  names: NameMap;
  priorities: PriorityRule;
  /** The delays for strategies of backoff that are code there. */
  backoffs: ReadonlyMap<string, StoredBackoff>;
  /** True to give each job a new id, which no job here can have. */
  newIds: boolean;
  /** True to accept intervals whose times differ from those there. */
  shiftIntervals: boolean;
  /** True to move failed jobs too, as dead letters. */
  failed: boolean;
}

/** Returns the places whose jobs are moved, in their order. */
export function placesOf({ failed }: Pick<MoveRules, 'failed'>): readonly Place[] {
  return failed ? [...PLACES, 'failed'] : PLACES;
}

/** Returns the name of a job here. */
export function nameOf({ names }: MoveRules, name: string): string {
  return names.get(name) ?? names.get('*') ?? name;
}

const MOST_URGENT = 1_000;

/** Returns the priority of a job here, or the reason why its queue needs a decision first. */
export function priorityOf({ priorities }: MoveRules, old: number): number | string {
  const isNone = old === 0;
  if (priorities.kind === 'below') {
    return isNone ? priorities.none : (priorities.named.get(old) ?? Math.max(0, priorities.none - old));
  }
  if (priorities.kind === 'none') {
    return isNone ? 0 : 'it has a priority, and others have none: pass --priorities';
  }
  if (isNone) {
    return priorities.isNoneLast ? 0 : 'it has no priority, and others have one: pass --priorities';
  }
  return MOST_URGENT - Math.min(old, MOST_URGENT - 1);
}
