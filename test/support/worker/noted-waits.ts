// The blocking waits of workers, and what ended them. A test looks at these instead of at the time until a job starts.
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';

/** A wait for markers at some keys. */
interface NotedWait {
  readonly keys: readonly string[];
  /** The longest time that it may last. */
  readonly seconds: number;
  /** The key of the marker that ended it, or how it ended without one; undefined while it lasts. */
  endedBy?: string;
}

/** The end of a wait that lasted as long as it might. */
const BY_TIME = 'time';

/** The waits of this process since their begin. */
export class NotedWaits {
  private readonly waits: NotedWait[] = [];

  /** Notes the waits that begin between now and the end of the test. */
  constructor() {
    const { waits } = this;
    const bzpopmin = Redis.prototype.bzpopminBuffer as (...given: unknown[]) => Promise<[Buffer] | null>;
    const noted = function (this: Redis, ...given: unknown[]) {
      const wait: NotedWait = { keys: given.slice(0, -1).map(String), seconds: Number(given.at(-1)) };
      waits.push(wait);
      const popped = bzpopmin.apply(this, given);
      const ended = (by: string) => void (wait.endedBy = by);
      popped.then(
        (marker) => ended(marker ? marker[0].toString() : BY_TIME),
        () => ended('error'),
      );
      return popped;
    };
    jest.spyOn(Redis.prototype, 'bzpopminBuffer').mockImplementation(noted as never);
  }

  /** Returns a look at the waits that last now or begin later. */
  fromNow(): { waits(): NotedWait[]; lastedFully(leastSeconds: number): boolean } {
    const open = this.waits.findIndex(({ endedBy }) => endedBy === undefined);
    const first = open === -1 ? this.waits.length : open;
    const waits = () => this.waits.slice(first);
    return {
      waits,
      lastedFully: (leastSeconds) =>
        waits().some(({ endedBy, seconds }) => endedBy === BY_TIME && seconds >= leastSeconds),
    };
  }

  /** Returns the last wait for a marker at a key. */
  lastFor(key: string): NotedWait | undefined {
    return this.waits.findLast(({ keys }) => keys.includes(key));
  }
}
