import { keptIn } from '../runtime/kept.js';

/** More than the clock of any zone was ever changed at once. A change of the date line is 24 hours. */
const LARGEST_CHANGE_MS = 26 * 3_600_000;

const MOST_ZONES = 1_000;
const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * The wall clock of a time zone. A wall time is the epoch ms that the same clock face would have in UTC.
 *
 * @throws RangeError if this process does not know the time zone
 */
export class ZoneClock {
  private readonly format: Intl.DateTimeFormat;

  constructor(timeZone: string) {
    this.format = formatOf(timeZone);
  }

  /** Returns the wall time at an instant. */
  wallAt(instant: number): number {
    return instant + this.offsetAt(instant);
  }

  /** Returns the instants at which the clock shows a wall time: none in a gap, two in a repeated hour. */
  instantsOf(wall: number): number[] {
    return this.offsetsAround(wall)
      .map((offset) => wall - offset)
      .filter((instant) => this.wallAt(instant) === wall);
  }

  /** Returns the first instant after the gap in which a wall time lies. */
  endOfGap(wall: number): number {
    const [larger, smaller] = this.offsetsAround(wall) as [number, number];
    return this.changeIn(wall - larger, wall - smaller);
  }

  /** Returns when the clock is set back, if that is near enough to repeat the present hour. */
  repeatAfter(instant: number): number | undefined {
    const end = instant + LARGEST_CHANGE_MS;
    return this.offsetAt(end) < this.offsetAt(instant) ? this.changeIn(instant, end) : undefined;
  }

  /** Returns the offsets in force around a wall time, the larger first. There is one if no change is near. */
  private offsetsAround(wall: number): number[] {
    const offsets = [this.offsetAt(wall - LARGEST_CHANGE_MS), this.offsetAt(wall + LARGEST_CHANGE_MS)];
    return [...new Set(offsets)].toSorted((a, b) => b - a);
  }

  /** Returns the first second after `from` that has the offset of `to`. */
  private changeIn(from: number, to: number): number {
    const after = this.offsetAt(to);
    let [low, high] = [Math.floor(from / 1_000), Math.ceil(to / 1_000)];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.offsetAt(middle * 1_000) === after) {
        high = middle;
      } else {
        low = middle;
      }
    }
    return high * 1_000;
  }

  private offsetAt(instant: number): number {
    const second = Math.floor(instant / 1_000) * 1_000;
    const [month, day, year, hour, minute, s] = this.format.format(second).match(/\d+/g)!.map(Number) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    return Date.UTC(year, month - 1, day, hour, minute, s) - second;
  }
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const numeric = 'numeric';
  const parts = {
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  } as const;
  const make = () => new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...parts });
  return keptIn(formats, timeZone, make, MOST_ZONES);
}
