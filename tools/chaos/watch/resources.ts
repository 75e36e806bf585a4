// What processes and the server use, by quarters of a run: what grows for ever shows between the second and the last.

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
  /** `not seen`: there is a quarter without a sample, and so nothing to tell. */
  verdict: 'steady' | 'grows' | 'not seen';
}

/** More than this is growth; a handful of timers or listeners is not. */
const MOST_GROWTH = 1.1;
/** With fewer keys, what an empty server has says more than they do. */
const FEWEST_KEYS = 5_000;

/** What is shown for the reader, and judged by another figure. */
const SHOWN_ONLY = new Set(['memory', 'keys']);

/** What has no figure in a run with few keys. */
const MAY_BE_UNSEEN = new Set(['memory per key']);

const SLACK: Record<string, number> = { heap: 1_000_000, timers: 15, sockets: 2, listeners: 15 };

export class Resources {
  private readonly samples = new Map<string, { at: number; values: Record<string, number> }[]>();

  /** @param at when, by performance.now() */
  add(who: string, { heap, timers, sockets, listeners }: Sample, at = performance.now()): void {
    this.note(who, at, { heap, timers, sockets, listeners });
  }

  /**
   * How much Redis has follows from how many jobs are kept: those that wait, the histories, and what has just ended, by
   * the rate. What must not grow is how much it takes for each key; keys that stay behind are the checker's.
   */
  addServer(memory: number, keys: number, connections: number, at = performance.now()): void {
    const perKey = keys > FEWEST_KEYS ? memory / keys : NaN;
    this.note('Redis', at, { memory, keys, 'memory per key': perKey, sockets: connections });
  }

  /**
   * One line for each figure of each process, of a run that lasted from `begin` to `end` by performance.now().
   *
   * @param whose who must have been seen: processes, and `Redis` where it is asked
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
