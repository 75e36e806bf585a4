import type { JobEvent } from '../model/job-event.js';

export type EventListener = (event: JobEvent) => void;

/**
 * The listeners to the events of one queue. A listener of some jobs is found by their ids, so that an event of another
 * job costs it nothing.
 */
export class EventListeners {
  private readonly all = new Set<EventListener>();
  private readonly byId = new Map<string, Set<EventListener>>();

  get isEmpty(): boolean {
    return this.all.size + this.byId.size === 0;
  }

  /** @param ids the jobs of the listener; undefined for all */
  add(listener: EventListener, ids?: readonly string[]): void {
    this.setsOf(ids).forEach((set) => set.add(listener));
  }

  delete(listener: EventListener, ids?: readonly string[]): void {
    this.setsOf(ids).forEach((set) => set.delete(listener));
    ids?.forEach((id) => this.byId.get(id)?.size === 0 && this.byId.delete(id));
  }

  /** Calls the listeners of a job. A listener that throws does not keep the event from the others. */
  emit(event: JobEvent, onError: (error: unknown) => void): void {
    for (const listener of [...this.all, ...(this.byId.get(event.id) ?? [])]) {
      try {
        listener(event);
      } catch (error) {
        onError(error);
      }
    }
  }

  private setsOf(ids: readonly string[] | undefined): Set<EventListener>[] {
    return ids ? [...new Set(ids)].map((id) => this.setOf(id)) : [this.all];
  }

  private setOf(id: string): Set<EventListener> {
    const set = this.byId.get(id) ?? new Set();
    this.byId.set(id, set);
    return set;
  }
}
