// The use of resources by processes and the server, per quarter of a run. Unbounded growth shows between the second and
// the last quarter.

export interface Sample {
  heap: number;
  rss: number;
  timers: number;
  sockets: number;
  listeners: number;
}

export interface Growth {
  who: string;
  what: string;
  /** The medians of the four quarters. */
  quarters: number[];
  /** The last against the second. */
  ratio: number;
  /** `not seen`: a quarter has no sample, so there is no verdict. */
  verdict: 'steady' | 'grows' | 'not seen';
}

/** More than this is growth; a handful of timers or listeners is not. */
const MOST_GROWTH = 1.1;
/** The fewest keys for a judgement. With fewer, the fixed cost of a server counts more. */
const FEWEST_KEYS = 5_000;

/** Figures shown for the reader, which another figure judges. */
const SHOWN_ONLY = new Set(['memory', 'keys']);

/** Figures that a run with few keys lacks. */
const MAY_BE_UNSEEN = new Set(['memory per key']);

const SLACK: Record<string, number> = { heap: 1_000_000, timers: 15, sockets: 2, listeners: 15 };

export class Resources {
  private readonly samples = new Map<string, { at: number; values: Record<string, number> }[]>();

  /** @param at when, by performance.now() */
  add(who: string, { heap, timers, sockets, listeners }: Sample, at = performance.now()): void {
    this.note(who, at, { heap, timers, sockets, listeners });
  }

  /**
   * Notes the memory of Redis, which follows from the kept jobs: waiting, in the histories, or just ended. So the
   * memory per key must not grow. The checker finds leftover keys.
   */
  addServer(memory: number, keys: number, connections: number, at = performance.now()): void {
    const perKey = keys > FEWEST_KEYS ? memory / keys : NaN;
    this.note('Redis', at, { memory, keys, 'memory per key': perKey, sockets: connections });
  }

  /**
   * Returns a line for each figure of each process between `begin` and `end` of performance.now().
   *
   * @param whose who must have samples: processes, and `Redis` where it is asked
   */
  growth(begin: number, end: number, whose: readonly string[]): Growth[] {
    const lines: Growth[] = [];
    for (const who of whose) {
      const samples = this.samples.get(who) ?? [];
      for (const what of Object.keys(samples[0]?.values ?? { heap: NaN })) {
        const quarters = [0, 1, 2, 3].map((quarter) => {
          const from = begin + ((end - begin) * quarter) / 4;
          const inside = samples.filter(({ at }) => at >= from && at < from + (end - begin) / 4);
          return median(inside.map(({ values }) => values[what]!).filter((value) => !Number.isNaN(value)));
        });
        const [, second = NaN, , last = NaN] = quarters;
        const ratio = last / second;
        lines.push({ who, what, quarters, ratio, verdict: verdictOf(what, quarters) });
      }
    }
    return lines;
  }

  private note(who: string, at: number, values: Record<string, number>): void {
    const samples = this.samples.get(who) ?? [];
    samples.push({ at, values });
    this.samples.set(who, samples);
  }
}

function verdictOf(what: string, quarters: readonly number[]): Growth['verdict'] {
  if (SHOWN_ONLY.has(what)) return 'steady';
  if (quarters.some(Number.isNaN) && !MAY_BE_UNSEEN.has(what)) return 'not seen';
  const [, second = NaN, , last = NaN] = quarters;
  return last / second > MOST_GROWTH && last - second > (SLACK[what] ?? 0) ? 'grows' : 'steady';
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
