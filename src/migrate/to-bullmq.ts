// A queue of BullMQ 6 as the new place of a queue of ours. Its script marks each entry in the step that adds the job.
// Jobs and schedules are translated for it.
import { z } from 'zod';
import { luaScripts } from '../queue/lua.generated.js';
import { parseJson, jsonLines } from '../queue/codec/stored-value.js';
import { loadPeer } from '../queue/errors/load-peer.js';
import type { RedisClient } from '../queue/redis/redis-client.js';
import { tally } from './move-report.js';
import { hashOf } from './queue/places.js';
import {
  MoverOvertakenError,
  partsOf,
  type LeftBehind,
  type MoverRight,
  type MoveTarget,
  type MovingJob,
  type PutReply,
} from './queue/transit.js';

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

/** The place of a job in BullMQ, and the fields of its hash. */
interface OutgoingJob {
  place: 'pending' | 'prioritized' | 'scheduled' | 'dead';
  id: string;
  /** The priority, or an instant in ms. */
  score: number;
  /** Its key of deduplication, and how long it holds that in ms; undefined for its end. */
  dedup?: { key: string; ms?: number };
  fields: string[];
  /** The options without a counterpart. */
  dropped: string[];
}

/** What a translation needs to know of the queue. */
interface OutgoingRules {
  /** True if prioritized jobs wait: then jobs without a priority come last, as here. */
  hasPriorities: boolean;
  maxAttempts: number;
  /** job name → `maxAttempts:maxCrashes` of its handler. */
  handlerLimits: Readonly<Record<string, string>>;
  /** True to move jobs of groups without their group. */
  dropGroups: boolean;
  nowMs: number;
}

const LAST_PRIORITY = 1_001;
const jobOptionsSchema = z
  .looseObject({
    backoff: z.looseObject({ type: z.string(), delayMs: z.number() }).optional().catch(undefined),
    metadata: z.record(z.string(), z.unknown()).optional().catch(undefined),
    timeoutMs: z.number().optional().catch(undefined),
  })
  .catch({});
const attemptsSchema = z
  .array(z.looseObject({ error: z.looseObject({ stack: z.string().optional() }).optional() }))
  .catch([]);
/** The fields of a hash that BullMQ has no place for, by the names of their options. */
const DROPPED_OPTIONS: Record<string, string> = {
  expires_at_ms: 'expiresInMs',
  max_crashes: 'maxCrashes',
  checkpoint: 'checkpoint',
  steps: 'steps',
  progress: 'progress',
  stream: 'stream',
  waits: 'waits',
  signals: 'signals',
  cost: 'cost',
  group: 'group',
};

/** An open wait or sleep of a job: a line without a state. See docs/internals/signals.md. */
const OPEN_WAIT = /\t$/m;

/** Returns what a job becomes, or why it stays. */
function translateOut(
  id: string,
  { place, score }: { place: string; score: number },
  hash: Readonly<Record<string, string>>,
  rules: OutgoingRules,
): OutgoingJob | LeftBehind {
  if (hash['after'] !== undefined) {
    return 'waits';
  }
  if (place === 'scheduled' && OPEN_WAIT.test(hash['waits'] ?? '')) {
    return 'signal';
  }
  if (hash['group'] !== undefined && !rules.dropGroups) {
    return 'ofGroup';
  }
  const payload = hash['payload'] ?? 'null';
  if (parseJson(payload).broken !== undefined) {
    return 'content';
  }
  const options = jobOptionsSchema.parse(parseJson(hash['options'] ?? '{}').value ?? {});
  const priority = priorityOut(Number(hash['priority'] ?? 0), rules);
  const due = place === 'scheduled' ? score : undefined;
  const enqueuedAt = Number(hash['enqueued_at_ms'] ?? rules.nowMs);
  const delay = due === undefined ? 0 : Math.max(0, due - enqueuedAt);
  const errors = Number(hash['errors'] ?? 0);
  const name = hash['name'] ?? '';
  const attempts = Number(hash['max_attempts'] ?? rules.handlerLimits[name]?.split(':')[0] ?? rules.maxAttempts);
  const key = hash['unique'] ?? hash['window'];
  const jobId = idOut(id);
  const opts = {
    attempts,
    backoff: { type: options.backoff?.type ?? 'exponential', delay: options.backoff?.delayMs ?? 1_000 },
    jobId,
    ...(priority > 0 && { priority }),
    ...(delay > 0 && { delay }),
    ...(key !== undefined && { de: { id: key } }),
  };
  const fields = [
    'name',
    name,
    'data',
    payload,
    'opts',
    JSON.stringify(opts),
    'timestamp',
    String(enqueuedAt),
    'delay',
    String(delay),
    'priority',
    String(priority),
    'atm',
    String(errors),
    'ats',
    hash['attempts'] ?? '0',
    'stc',
    hash['crashes'] ?? '0',
    ...(key === undefined ? [] : ['deid', key]),
    ...(place === 'dead' ? failureOut(hash, score) : []),
  ];
  return {
    ...placeOut(place, { priority, score, due }),
    id: jobId,
    ...(key !== undefined && { dedup: { key } }),
    fields,
    dropped: [
      ...Object.keys(DROPPED_OPTIONS).filter((field) => hash[field] !== undefined).map((field) => DROPPED_OPTIONS[field]!),
      ...(options.timeoutMs === undefined ? [] : ['timeoutMs']),
      ...(options.metadata === undefined ? [] : ['metadata']),
      ...(jobId === id ? [] : ['id']),
    ], // prettier-ignore
  };
}

function placeOut(
  place: string,
  { priority, score, due }: { priority: number; score: number; due: number | undefined },
): Pick<OutgoingJob, 'place' | 'score'> {
  if (place === 'dead') {
    return { place, score };
  }
  if (due !== undefined) {
    return { place: 'scheduled', score: due };
  }
  return priority > 0 ? { place: 'prioritized', score: priority } : { place: 'pending', score: 0 };
}

/** Returns the priority of BullMQ, where 1 is the most urgent and no priority comes before it. */
function priorityOut(priority: number, { hasPriorities }: OutgoingRules): number {
  return hasPriorities || priority > 0 ? LAST_PRIORITY - Math.min(1_000, Math.max(0, priority)) : 0;
}

/** Returns an id that BullMQ takes: it refuses integers, and colons but for those of its own. */
function idOut(id: string): string {
  const text = id.replaceAll(':', '-');
  return /^-?\d+$/.test(text) ? `njq-${text}` : text;
}

function failureOut(hash: Readonly<Record<string, string>>, failedAt: number): string[] {
  const attempts = attemptsSchema.parse(jsonLines(hash['attempt_log']));
  const stack = attempts.findLast(({ error }) => error?.stack !== undefined)?.error?.stack;
  return [
    'failedReason',
    hash['last_error'] ?? '',
    'stacktrace',
    JSON.stringify(stack === undefined ? [] : [stack]),
    'finishedOn',
    String(failedAt),
    'processedOn',
    hash['claimed_at_ms'] ?? String(failedAt),
  ];
}
