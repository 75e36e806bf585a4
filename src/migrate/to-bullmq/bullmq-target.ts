// A queue of BullMQ 6 as the new place of a queue of ours. Its script marks each entry in the step that adds the job.
import { luaScripts } from '../../queue/lua.generated.js';
import { loadPeer } from '../../queue/errors/load-peer.js';
import { parseJson } from '../../queue/codec/stored-value.js';
import type { RedisClient } from '../../queue/redis/redis-client.js';
import { tally } from '../move-report.js';
import { hashOf } from '../queue/old-place.js';
import {
  MoverOvertakenError,
  partsOf,
  type LeftBehind,
  type MoverRight,
  type MoveTarget,
  type MovingJob,
  type PutReply,
} from '../queue/transit.js';
import { idOut, translateOut, type OutgoingJob, type OutgoingRules } from './translate-out.js';

/** The part of the package bullmq that creates schedulers. */
export interface BullmqQueue {
  upsertJobScheduler(id: string, repeat: object, template: object): Promise<unknown>;
  close(): Promise<void>;
}

interface TargetParts {
  client: RedisClient;
  prefix: string;
  name: string;
  rules: OutgoingRules;
  /** The counts of options without a counterpart. */
  dropped: Record<string, number>;
  /** Opens the queue by the package bullmq. */
  open: () => Promise<BullmqQueue>;
}

export class BullmqTarget implements MoveTarget {
  private opened: Promise<BullmqQueue> | undefined;

  constructor(private readonly parts: TargetParts) {}

  private key(name: string): string {
    return `${this.parts.prefix}:${this.parts.name}:${name}`;
  }

  /** Refuses nothing: a queue of BullMQ takes jobs at any time. */
  check(): Promise<void> {
    return Promise.resolve();
  }

  /** Notes the move there, so that the way back knows its source. Ends nothing: a move from there is another command. */
  async takeBack({ source }: MoverRight): Promise<void> {
    await this.parts.client.hsetnx(this.key('njq:mover'), `from:${source}`, '0'); // add.lua raises it to a fence
  }

  async put({ source, fence }: MoverRight, jobs: readonly MovingJob[]): Promise<PutReply[]> {
    const outgoing = jobs.map((job) => this.translated(job));
    const moved = outgoing.flatMap((each, i) => (typeof each === 'string' ? [] : [{ job: jobs[i]!, each }]));
    const args = moved.flatMap(({ job, each }) => [
      partsOf(job.entry).key,
      each.place,
      each.id,
      each.dedup?.key ?? '',
      String(each.dedup?.ms ?? ''),
      String(each.score),
      String(each.fields.length),
      ...each.fields,
    ]);
    const names = ['', 'wait', 'prioritized', 'delayed', 'failed', 'pc', 'marker', 'events', 'njq:mover'];
    const keys = [...names, `njq:once:${source}`, 'de:'].map((name) => this.key(name));
    const text = luaScripts.migrateBullmqAdd.replace(/^#!.*\n/, '');
    const reply = await this.parts.client.eval(text, keys.length, ...keys, source, String(fence), ...args);
    if (!Array.isArray(reply)) {
      throw new MoverOvertakenError(this.parts.name);
    }
    const replies = new Map(moved.map(({ job }, i) => [job.id, String(reply[i]) as PutReply]));
    moved.forEach(({ job, each }) => {
      if (replies.get(job.id) === 'new') {
        each.dropped.forEach((option) => tally(this.parts.dropped, option));
      }
    });
    return outgoing.map((each, i) => (typeof each === 'string' ? each : replies.get(jobs[i]!.id)!));
  }

  private translated({ id, entry, fields }: MovingJob): OutgoingJob | LeftBehind {
    const [, place, score, owns, heldUntil] = entry.split('\t') as [string, string, string, string, string];
    const { rules } = this.parts;
    const found = translateOut(id, { place, score: Number(score) }, hashOf(fields), rules);
    if (typeof found === 'string') {
      return found;
    }
    const { dedup, ...job } = found;
    const ms = heldUntil === '' ? undefined : Math.max(1, Number(heldUntil) - rules.nowMs);
    return owns === '' || !dedup ? job : { ...job, dedup: { ...dedup, ...(ms !== undefined && { ms }) } };
  }

  /** Creates a scheduler. A paused or ended schedule is left out. @throws InvalidOptionError if the package is missing */
  async putSchedule(
    _right: MoverRight,
    id: string,
    { due, fields }: { due: string; fields: string[] },
  ): Promise<boolean> {
    const hash = hashOf(fields);
    const rule = parseJson(hash['recurrence']).value as Record<string, unknown> | undefined;
    if (!rule || hash['ended_at_ms'] !== undefined || hash['paused_at_ms'] !== undefined) {
      return false;
    }
    const { cron, timeZone, everyMs, startAt, endAt, limit } = rule;
    const repeat = {
      ...(cron === undefined
        ? { every: everyMs, startDate: Number(due) }
        : { pattern: cron, tz: timeZone ?? 'UTC' }),
      ...(cron !== undefined && startAt !== undefined && { startDate: startAt }),
      ...(endAt !== undefined && { endDate: endAt }),
      ...(limit !== undefined && { limit: Math.max(1, Number(limit) - Number(hash['ticks'] ?? 0)) }),
    };
    this.opened ??= this.parts.open();
    const queue = await this.opened;
    const data = parseJson(hash['payload']).value;
    const opts = { attempts: this.parts.rules.maxAttempts };
    await queue.upsertJobScheduler(idOut(id), repeat, { name: hash['name'], data, opts });
    return true;
  }

  marks(source: string, limit: number): Promise<string[]> {
    return this.parts.client.zrange(this.key(`njq:once:${source}`), '0', String(limit - 1));
  }

  async forget(source: string, keys: readonly string[]): Promise<void> {
    await this.parts.client.zrem(this.key(`njq:once:${source}`), ...keys);
  }

  async close(): Promise<void> {
    await (await this.opened)?.close();
  }
}

/** Loads BullMQ, of which only schedulers need the package. @throws InvalidOptionError if it is not installed */
export function loadBullmq(): Promise<{ Queue: new (name: string, options: object) => BullmqQueue }> {
  const name = 'bullmq';
  return loadPeer(name, 'migrate queue --to bullmq', 'which creates the schedulers', () => import(name) as never);
}
