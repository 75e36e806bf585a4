/** The places where jobs wait in BullMQ and Bull, in the order in which their workers take jobs. */
export const PLACES = ['wait', 'paused', 'prioritized', 'delayed'] as const;
export type Place = (typeof PLACES)[number] | 'failed';

/** The keys of a queue of BullMQ or Bull, and those of the mover beside them. */
export class SourceKeys {
  readonly job: string;
  readonly dedup: string;
  readonly meta: string;
  /** Exists while a queue of Bull is paused. */
  readonly bullPause: string;
  readonly marker: string;
  readonly priority: string;
  readonly repeat: string;
  readonly active: string;
  /** The ids in transit, in their order. */
  readonly transit: string;
  /** The entry of each id in transit. */
  readonly taken: string;
  /** The fence, the last order, and the name of the source. */
  readonly mover: string;
  /** The schedulers in transit. */
  readonly schedulers: string;

  constructor(prefix: string, queue: string) {
    const of = (name: string) => `${prefix}:${queue}:${name}`;
    this.job = of('');
    this.dedup = of('de:');
    [this.meta, this.bullPause] = [of('meta'), of('meta-paused')];
    [this.marker, this.priority] = [of('marker'), of('priority')];
    [this.repeat, this.active] = [of('repeat'), of('active')];
    [this.transit, this.taken] = [of('njq:transit'), of('njq:taken')];
    [this.mover, this.schedulers] = [of('njq:mover'), of('njq:schedulers')];
  }

  /** Returns the key of a place or of another set of jobs. */
  of(name: string): string {
    return this.job + name;
  }
}
