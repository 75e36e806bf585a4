import { BATCH_PARTS } from '../model/batch.js';
import type { DoctorOptions, DoctorReport } from '../model/doctor-report.js';
import type { Recurrence } from '../model/schedule.js';
import type { RedisClient } from '../redis/redis-client.js';
import { scanKeys } from '../redis/scan-keys.js';
import { slicesOf } from '../runtime/collections.js';
import { BATCH_RECORD_MS } from '../runtime/lifetimes.js';
import { nextDue } from '../schedules/recurrence.js';
import type { QueueCalls } from '../scripts/all-calls.js';
import { refTo, splitRef } from '../store/job-ref.js';
import type { ScriptCall } from '../transport/script-runner.js';
import { wrongKeys } from '../transport/wrong-keys.js';
import { typesOfKeys, typesOfQueue } from '../validation/key-types.js';
import { type Fault, type History, INSTANTS, type Look, instantFault } from '../verbs/doctor.js';
import type { DueSchedule } from '../verbs/schedule.js';
import { DoctorNotes } from './doctor-notes.js';

/** The number of jobs that one step reads, which blocks the server for about a millisecond. */
const SLICE = 100;

const HISTORIES: readonly History[] = ['completed', 'failed', 'cancelled'];

/** The end of a key of a batch beside its record. */
const BATCH_PART = new RegExp(`/(?:${BATCH_PARTS.join('|')})$`);

/**
 * Audits one queue in bounded steps, beside live traffic. The walks below only collect suspects, because a queue changes
 * between two steps. One script then checks each suspect in its present state.
 */
export class Doctor {
  private readonly notes: DoctorNotes;
  /** Jobs that are in no sorted set, with their status. They may be orphans until a list contains them. */
  private readonly strays = new Map<string, string>();
  private readonly suspects = new Set<string>();
  private readonly groups = new Set<string>();
  /** Batches with a follow-up whose data still exists. */
  private readonly batches = new Set<string>();

  constructor(
    private readonly queue: AuditedRedis,
    private readonly calls: QueueCalls,
    private readonly options: Required<DoctorOptions>,
  ) {
    this.notes = new DoctorNotes(calls.keys.queue, options.repair);
  }

  async run(): Promise<DoctorReport> {
    await this.lookAtTypes(typesOfQueue(this.keys.base));
    if (!this.notes.has('type')) {
      await this.lookAtJobs();
    }
    if (!this.notes.has('type')) {
      await this.lookAtPlaces();
    }
    return this.notes.report;
  }

  private async lookAtPlaces(): Promise<void> {
    await this.lookAtLists();
    await this.lookAtSets();
    this.strays.forEach((_, id) => this.suspects.add(id));
    await this.judge([...this.suspects]);
    await this.lookAtHistories();
    await this.lookAtGroups();
    await this.lookAtBatches();
    await this.lookAtUniqueKeys();
    await this.lookAtInstants();
    const { repair, exclusive } = this.options;
    this.notes.add(await this.ask(this.calls.doctor.counters({ repair, exclusive })));
  }

  private async lookAtTypes(types: ReadonlyMap<string, string>): Promise<void> {
    for (const slice of slicesOf([...types], SLICE)) {
      this.notes.addWrongKeys(await this.queue.ask(() => wrongKeys(this.client, new Map(slice))));
    }
  }

  /** Checks all job hashes. SCAN returns each hash that exists throughout. */
  private async lookAtJobs(): Promise<void> {
    const { jobPrefix, base } = this.keys;
    for await (const keys of scanKeys(this.client, base, (question) => this.queue.ask(question))) {
      await this.lookAtSlices(
        keys.filter((key) => key.startsWith(jobPrefix)).map((key) => key.slice(jobPrefix.length)),
      );
      const others = keys.filter((key) => !key.startsWith(jobPrefix));
      await this.lookAtTypes(typesOfKeys(base, others));
      this.noteGroups(keys);
      this.noteBatches(keys);
      await this.lookAtClaimMemories(keys.filter((key) => key.startsWith(`${base}batch:`)));
    }
  }

  private async lookAtSlices(ids: readonly string[]): Promise<void> {
    for (const slice of slicesOf(ids, SLICE)) {
      this.notes.checked += slice.length;
      for (const [id, { verdict, status }] of await this.scan(slice)) {
        if (verdict === 'nowhere') {
          this.strays.set(id, status);
        } else if (verdict === 'odd') {
          this.suspects.add(id);
        }
      }
    }
  }

  private async lookAtLists(): Promise<void> {
    const { pending, processing } = this.keys;
    const line = new ListWalk();
    await this.lookAtList(pending, line, (status) => status === 'pending');
    // A claim of a client of the pattern takes two steps, so its status may be the previous one.
    await this.lookAtList(processing, new ListWalk(), () => true, line);
  }

  /** Finds ids that are in a history twice. */
  private async lookAtHistories(): Promise<void> {
    for (const state of HISTORIES) {
      const twice = new Set<string>();
      const walk = new ListWalk();
      for await (const ids of this.slicesOfList(this.keys[state])) {
        walk.take(ids).again.forEach((id) => twice.add(id));
      }
      await this.judgeAll([...twice], (ids) =>
        this.calls.doctor.histories({ state, ids, repair: this.options.repair }),
      );
    }
  }

  private async *slicesOfList(key: string): AsyncGenerator<string[]> {
    for (let offset = 0; ; offset += SLICE) {
      const ids = await this.queue.ask(() => this.client.lrange(key, offset, offset + SLICE - 1));
      if (ids.length === 0) {
        return;
      }
      yield ids;
    }
  }

  private async lookAtList(key: string, walk: ListWalk, fits: (status: string) => boolean, other?: ListWalk) {
    for await (const ids of this.slicesOfList(key)) {
      const { fresh, again } = walk.take(ids);
      const twice = fresh.filter((id) => other?.has(id));
      [...again, ...twice].forEach((id) => this.suspects.add(id));
      await this.meet(fresh, fits);
    }
  }

  /**
   * Compares ids of a list with the known suspects. An id whose status fits the list is in its place. An id that is
   * also elsewhere is suspect.
   */
  private async meet(ids: readonly string[], fits: (status: string) => boolean): Promise<void> {
    const unknown = ids.filter((id) => !(fits(this.strays.get(id) ?? '') && this.strays.delete(id)));
    const scanned = unknown.length > 0 ? await this.scan(unknown) : new Map<string, Look>();
    for (const id of unknown) {
      const found = scanned.get(id);
      if (found?.verdict !== 'nowhere' || !fits(found.status)) {
        this.suspects.add(id);
      }
    }
  }

  /** Finds ghosts: every id with a hash was met before. */
  private async lookAtSets(): Promise<void> {
    const { claims, prioritized, scheduled, dead } = this.keys;
    for (const set of [claims, prioritized, scheduled, dead]) {
      await this.walk(set, async (ids) => {
        for (const [id, { verdict }] of await this.scan(ids)) {
          if (verdict === 'odd') {
            this.suspects.add(id);
          }
        }
      });
    }
  }

  /** Passes over the members of a sorted set, a slice a time. */
  private async walk(set: string, visit: (members: string[]) => Promise<void> | void): Promise<void> {
    let cursor = '0';
    do {
      const [next, pairs] = await this.queue.ask(() => this.client.zscan(set, cursor, 'COUNT', SLICE));
      for (const slice of slicesOf(
        pairs.filter((_, i) => i % 2 === 0),
        SLICE,
      )) {
        await visit(slice);
      }
      cursor = next;
    } while (cursor !== '0');
  }

  private async judge(ids: readonly string[]): Promise<void> {
    await this.judgeAll(ids, (slice) => this.calls.doctor.inspect({ ids: slice, repair: this.options.repair }));
  }

  /** Sends suspects in slices to a script, which may judge fewer of them. */
  private async judgeAll(
    ids: readonly string[],
    callOf: (slice: readonly string[]) => ScriptCall<{ judged: number; faults: Fault[] }>,
  ): Promise<void> {
    for (let start = 0; start < ids.length;) {
      const { judged, faults } = await this.ask(callOf(ids.slice(start, start + SLICE)));
      this.notes.add(faults);
      start += judged;
    }
  }

  private async lookAtUniqueKeys(): Promise<void> {
    let cursor = '0';
    do {
      const [next, pairs] = await this.queue.ask(() => this.client.hscan(this.keys.unique, cursor, 'COUNT', SLICE));
      for (const slice of slicesOf(
        pairs.filter((_, i) => i % 2 === 0),
        SLICE,
      )) {
        this.notes.add(
          await this.ask(this.calls.doctor.unique({ uniqueKeys: slice, repair: this.options.repair })),
        );
      }
      cursor = next;
    } while (cursor !== '0');
  }

  /** Finds instants that the clock of now cannot have made. A repaired one is not found again. */
  private async lookAtInstants(): Promise<void> {
    const { repair } = this.options;
    for (let offset = 0, more = true; more;) {
      const step = await this.ask(this.calls.doctor.clocks({ repair, offset }));
      this.notes.add(step.faults);
      more = step.more;
      offset += repair ? 0 : INSTANTS;
    }
    this.notes.add(await new ScheduleTimes(this.queue, this.calls, repair).faults());
  }

  /** Finds groups by their keys. */
  private noteGroups(keys: readonly string[]): void {
    for (const kind of ['waiting:', 'running:', 'state:']) {
      const prefix = this.keys.groupsPrefix + kind;
      keys.filter((key) => key.startsWith(prefix)).forEach((key) => this.groups.add(key.slice(prefix.length)));
    }
  }

  private async lookAtGroups(): Promise<void> {
    await this.walk(`${this.keys.groupsPrefix}depths`, (names) => names.forEach((name) => this.groups.add(name)));
    for (const slice of slicesOf([...this.groups], SLICE)) {
      this.notes.add(await this.ask(this.calls.doctor.groups({ names: slice, repair: this.options.repair })));
    }
  }

  /** Finds batches by their keys. */
  private noteBatches(keys: readonly string[]): void {
    const prefix = this.keys.batchRecordPrefix;
    for (const key of keys.filter((each) => each.startsWith(prefix))) {
      this.batches.add(key.slice(prefix.length).replace(BATCH_PART, ''));
    }
  }

  /** Gives an expiry to each memory without one, by one atomic command. */
  private async lookAtClaimMemories(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const endless = (await this.queue.ask(() => this.client.pttl(key))) === -1;
      if (endless && this.options.repair) {
        await this.queue.ask(() => this.client.pexpire(key, this.calls.options.visibilityMs, 'NX'));
      }
      if (endless) {
        this.notes.add([{ kind: 'batch', subject: key, found: 'no expiry', expected: 'that of its claims' }]);
      }
    }
  }

  private async lookAtBatches(): Promise<void> {
    for (const set of [this.keys.batches, this.keys.batchesByAge]) {
      await this.walk(set, (ids) => ids.forEach((id) => this.batches.add(id)));
    }
    for (const slice of slicesOf([...this.batches], SLICE)) {
      this.notes.add(
        await this.ask(
          this.calls.doctor.batches({ ids: slice, keepMs: BATCH_RECORD_MS, repair: this.options.repair }),
        ),
      );
    }
    const members = new BatchMembers(this.queue, this.calls, this.options.repair);
    for (const batch of this.batches) {
      this.notes.add(await members.faultsOf(batch));
    }
  }

  private get client(): RedisClient {
    return this.queue.client;
  }

  private get keys() {
    return this.calls.keys;
  }

  private scan(ids: readonly string[]): Promise<Map<string, Look>> {
    return this.ask(this.calls.doctor.scan({ ids }));
  }

  private ask<Reply>(call: ScriptCall<Reply>): Promise<Reply> {
    return this.queue.run(call);
  }
}

/**
 * Reads a list in slices while it grows at its head. Returns which ids are new, and which are in the list twice.
 * Enqueues move ids that were already read into the next slice.
 */
export class ListWalk {
  private readonly seen = new Set<string>();
  private last: readonly string[] = [];

  take(ids: readonly string[]): { fresh: string[]; again: string[] } {
    const moved = this.movedInto(ids);
    const fresh: string[] = [];
    const again: string[] = [];
    for (const id of ids.slice(moved)) {
      (this.seen.has(id) ? again : fresh).push(id);
      this.seen.add(id);
    }
    this.last = ids;
    return { fresh, again };
  }

  /** Returns whether an id was met so far. */
  has(id: string): boolean {
    return this.seen.has(id);
  }

  /** Returns how many ids at the beginning of the slice are the end of the last one. */
  private movedInto(ids: readonly string[]): number {
    if (ids.every((id) => this.seen.has(id)) && ids.length === this.last.length) {
      return ids.length; // more came than a slice holds
    }
    const moved = ids.lastIndexOf(this.last.at(-1) ?? '') + 1;
    const end = this.last.slice(this.last.length - moved);
    return moved > 0 && ids.slice(0, moved).every((id, i) => id === end[i]) ? moved : 0;
  }
}

/**
 * Finds schedules whose due time is later than the next time of their rule, because the server's clock was ahead. A
 * repair moves them to that time. Resting schedules have no due time.
 */
class ScheduleTimes {
  constructor(
    private readonly queue: AuditedRedis,
    private readonly calls: QueueCalls,
    private readonly repair: boolean,
  ) {}

  async faults(): Promise<Fault[]> {
    const found: Fault[] = [];
    for (let offset = 0, read = -1; read !== 0; offset += read) {
      const { nowMs, due } = await this.queue.run(this.calls.schedules.due({ limit: 0, othersFrom: offset }));
      const ahead = due.flatMap((each) => this.withNext(each, nowMs));
      found.push(
        ...ahead.map(({ id, dueAtMs, nextDueMs }) =>
          instantFault(`${this.calls.keys.scheduleDue} ${id}`, dueAtMs, nextDueMs),
        ),
      );
      if (this.repair && ahead.length > 0) {
        await this.queue.run(this.calls.schedules.tick({ ticks: ahead }));
      }
      read = due.length;
    }
    return found;
  }

  /** Returns the schedule with its next time if it is due later. Another process may know a zone that this one does not. */
  private withNext(due: DueSchedule, nowMs: number): (DueSchedule & { nextDueMs: number })[] {
    try {
      const recurrence = JSON.parse(due.recurrence) as Recurrence;
      const nextDueMs = nextDue(recurrence, nowMs, { queue: this.calls.keys.queue, id: due.id });
      return due.dueAtMs > nextDueMs ? [{ ...due, nextDueMs }] : [];
    } catch {
      return [];
    }
  }
}

/** Finds members for which a batch waits although they are gone or have ended, in any queue. */
class BatchMembers {
  constructor(
    private readonly queue: AuditedRedis,
    private readonly calls: QueueCalls,
    private readonly repairs: boolean,
  ) {}

  /** Returns the faults of one batch. A repair lets the next run of maintenance look at the batch. */
  async faultsOf(batch: string): Promise<Fault[]> {
    const record = await this.queue.run(this.calls.batches.status({ id: batch }));
    const faults = record && !record.firedAt ? await this.lostOf(batch) : [];
    if (faults.length > 0 && this.repairs) {
      await this.queue.ask(() => this.queue.client.zadd(this.calls.keys.batches, 'XX', 0, batch));
    }
    return faults;
  }

  private async lostOf(batch: string): Promise<Fault[]> {
    const faults: Fault[] = [];
    let cursor = '0';
    do {
      const [next, pairs] = await this.queue.ask(() =>
        this.queue.client.zscan(this.openKey(batch), cursor, 'COUNT', SLICE),
      );
      const members = pairs.filter((_, i) => i % 2 === 0);
      for (const name of new Set(members.map((member) => this.placeOf(member).queue))) {
        const there = members.filter((member) => this.placeOf(member).queue === name);
        faults.push(...(await this.lostIn(name, batch, there)));
      }
      cursor = next;
    } while (cursor !== '0');
    return faults;
  }

  /** Asks the queue of some members. An end that is on its way has a number. */
  private async lostIn(name: string, batch: string, members: readonly string[]): Promise<Fault[]> {
    const { queue: home } = this.calls.keys;
    const calls = name === home ? this.calls : await this.queue.open(name);
    const asked = members.map((member) => ({ batch, id: this.placeOf(member).id }));
    const ends = (await this.queue.run(calls.batches.ends({ home, members: asked }))).filter(
      ({ number }) => number === '0',
    );
    const faults: Fault[] = [];
    for (const { id, state } of ends) {
      const member = name === home ? id : refTo(name, id);
      const open = await this.queue.ask(() => this.queue.client.zscore(this.openKey(batch), member));
      if (open !== null) {
        const found = `it waits for job ${id} of queue ${name}, which ${state === 'removed' ? 'is gone' : `is ${state}`}`;
        faults.push({ subject: batch, kind: 'batch', found, expected: 'members that wait or run' });
      }
    }
    return faults;
  }

  private placeOf(member: string): { queue: string; id: string } {
    return splitRef(this.calls.keys.queue, member);
  }

  private openKey(batch: string): string {
    return this.calls.keys.batchRecord(batch, 'open');
  }
}

/** The Redis of the audited queue. No step on it may hang. */
interface AuditedRedis {
  readonly client: RedisClient;
  run<Reply>(call: ScriptCall<Reply>): Promise<Reply>;
  ask<Reply>(question: () => Promise<Reply>): Promise<Reply>;
  /** Returns the calls of another queue with the same options. */
  open(name: string): Promise<QueueCalls>;
}
