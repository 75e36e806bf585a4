// Copies what has ended at the old place, and what is remembered there, to the new one.
import type { EndedJob, NewPlace } from './new-place.js';
import { fieldsOf, STEP, type OldPlace } from './old-place.js';

/** The most characters of one call, which must not block the server. */
const MOST_LENGTH = 1_000_000;
const IDS_OF_A_CALL = 1_000;

/** Copies ended jobs, ids of ended jobs, and unique keys that are held for a time. */
export class EndedCopier {
  /** The newest id of each history that was copied. */
  private readonly newest = new Map<string, string>();
  private rememberedCount = -1;
  /** The number of jobs that were copied. */
  copied = 0;

  constructor(
    private readonly old: OldPlace,
    private readonly target: NewPlace,
  ) {}

  async run(): Promise<void> {
    await this.copyHistory('completed');
    await this.copyHistory('cancelled');
    await this.copyKept();
    await this.copyIds();
    await this.copyWindows();
  }

  /** Copies the records that are kept because waiting jobs will read their results. */
  async copyKept(): Promise<void> {
    const ids = await this.old.client.zrange(this.old.keys.keptResults, '0', '-1');
    for (let i = 0; i < ids.length; i += STEP) {
      await this.copy('kept', ids.slice(i, i + STEP));
    }
  }

  /** Copies the jobs of a history that are newer than those of the last call, the oldest first. */
  private async copyHistory(place: 'completed' | 'cancelled'): Promise<void> {
    const known = this.newest.get(place);
    const found: string[] = [];
    for (let at = 0, isKnown = false; !isKnown; at += STEP) {
      const slice = await this.old.client.lrange(this.old.keys[place], String(at), String(at + STEP - 1));
      const end = known === undefined ? -1 : slice.indexOf(known);
      found.push(...(end < 0 ? slice : slice.slice(0, end)));
      isKnown = end >= 0 || slice.length < STEP;
    }
    const oldestFirst = found.toReversed();
    for (let i = 0; i < oldestFirst.length; i += STEP) {
      await this.copy(place, oldestFirst.slice(i, i + STEP));
    }
    if (found[0] !== undefined) {
      this.newest.set(place, found[0]);
    }
  }

  private async copy(place: 'completed' | 'cancelled' | 'kept', ids: readonly string[]): Promise<void> {
    const { client, keys } = this.old;
    const jobs = await Promise.all(
      ids.map(async (id): Promise<EndedJob> => {
        const [hash, left] = await Promise.all([client.hgetall(keys.job(id)), client.pttl(keys.job(id))]);
        return { id, leftMs: left > 0 ? left : undefined, fields: fieldsOf(hash) };
      }),
    );
    const isKept = place === 'kept';
    const there = jobs.filter(
      ({ leftMs, fields }) => fields.length > 0 && !fields.includes('moved') && isKept === (leftMs === undefined),
    );
    for (const slice of slicesBySize(there)) {
      this.copied += await this.target.putEnded(place, slice);
    }
  }

  private async copyIds(): Promise<void> {
    const { client, keys } = this.old;
    const count = await client.zcard(keys.endedIds);
    if (count === this.rememberedCount) {
      return;
    }
    this.rememberedCount = count;
    for (let at = 0; at < count; at += IDS_OF_A_CALL) {
      const pairs = await client.zrange(keys.endedIds, String(at), String(at + IDS_OF_A_CALL - 1), 'WITHSCORES');
      await this.target.putSettings('ended', pairs);
    }
  }

  /** Copies the unique keys whose time goes on, although their job has ended. */
  private async copyWindows(): Promise<void> {
    const { client, keys } = this.old;
    const now = Date.now();
    const found = await client.zrange(keys.uniqueExpiries, String(now), '+inf', 'BYSCORE');
    for (let i = 0; i < found.length; i += STEP) {
      const slice = found.slice(i, i + STEP);
      const [owners, ends] = await Promise.all([
        client.hmget(keys.unique, ...slice),
        client.zmscore(keys.uniqueExpiries, ...slice),
      ]);
      const waiting = new Set(await this.old.still(owners.filter((owner) => owner !== null)));
      const pairs = slice.flatMap((key, k) => {
        const [owner, end] = [owners[k], ends[k]];
        return owner && end && !waiting.has(owner) ? [key, `${owner}\t${end}`] : [];
      });
      await this.target.putSettings('unique', pairs);
    }
  }
}

/** Cuts jobs into calls of a bounded size. */
export function slicesBySize<Job extends { fields: readonly string[] }>(jobs: readonly Job[]): Job[][] {
  const slices: Job[][] = [];
  let length = Infinity;
  for (const job of jobs) {
    const size = job.fields.reduce((sum, each) => sum + each.length, 0);
    length += size;
    if (length > MOST_LENGTH) {
      slices.push([]);
      length = size;
    }
    slices.at(-1)!.push(job);
  }
  return slices;
}
