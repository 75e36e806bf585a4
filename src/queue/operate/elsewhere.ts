// What one queue asks of others: ends of jobs that it waits for, follow-ups, and members that are gone.
import { FOLLOW_UP_KINDS, type MemberEnd } from '../model/batch.js';
import { LARGEST_PAGE } from '../runtime/bounds.js';
import { groupBy } from '../runtime/collections.js';
import type { AskedOptions } from '../store/asked-options.js';
import { EnqueueRejected, type EncodedJob } from '../store/enqueue-call.js';
import { refTo, splitRef } from '../store/job-ref.js';
import type { QueueAccess } from '../store/queue-store.js';
import type { BatchAdder, DependOutcome, KnownOutcome, OpenMember } from '../verbs/batch.js';
import type { OnceEntry, OnceReply } from '../verbs/once.js';
import { OpenedQueues } from './opened-queues.js';

/** The most pairs, or members, of one script call. */
const MOST_PER_CALL = 500;

/** A new job, and a job of another queue that it waits for. */
interface Pair {
  waiting: string;
  queue: string;
  id: string;
}

/**
 * Notes in other queues that new jobs wait for jobs there. This comes before the enqueue, so that an end is reported
 * whenever it comes. Removes the jobs that have completed from the options of the new jobs. Writes down why one cannot wait, and
 * its enqueue says so unless the new job is known already.
 *
 * @throws the error of a call to another queue; nothing is enqueued yet
 */
export async function dependElsewhere(
  queue: { readonly name: string },
  others: OpenedQueues,
  jobs: readonly EncodedJob[],
): Promise<void> {
  const pairs = jobs.flatMap(({ id: waiting, afterElsewhere = [] }) =>
    afterElsewhere.map(({ queue: name, id }): Pair => ({ waiting, queue: name, id })),
  );
  const outcomes = new Map<string, DependOutcome>();
  for (const [name, all] of groupBy(pairs, (pair) => pair.queue)) {
    for (let start = 0; start < all.length; start += MOST_PER_CALL) {
      const slice = all.slice(start, start + MOST_PER_CALL);
      const replies = await others.run(name, (calls) => calls.batches.depend({ home: queue.name, pairs: slice }));
      slice.forEach((pair, i) => outcomes.set(pairKey(pair), replies[i]!));
    }
  }
  for (const job of jobs) {
    if (job.afterElsewhere) {
      job.options = decidedOptions(job, outcomes);
    }
  }
}

/** Returns the options of a job after the replies of the other queues. */
function decidedOptions(
  { id: waiting, options, afterElsewhere = [] }: EncodedJob,
  outcomes: ReadonlyMap<string, DependOutcome>,
): AskedOptions {
  const asked = { ...options };
  for (const { queue, id } of afterElsewhere) {
    const outcome = outcomes.get(pairKey({ waiting, queue, id }))!;
    const ref = refTo(queue, id);
    if (outcome === 'completed') {
      asked.after = asked.after!.filter((each) => each !== ref);
    } else if (outcome !== 'open') {
      asked.afterRefusal ??= [outcome, ref];
    }
  }
  return asked;
}

function pairKey({ waiting, queue, id }: Pair): string {
  return refTo(waiting, refTo(queue, id));
}

/** Returns the batch in another queue that a job joins; undefined for another job. */
export function batchElsewhere({ options }: EncodedJob): string | undefined {
  const { batch } = options ?? {};
  return batch !== undefined && splitRef('', batch).queue !== '' ? batch : undefined;
}

/**
 * Asks batches in other queues about the jobs that join them. Notes in their options which jobs are members already. Their
 * enqueue adds them no second time, even if their hash is gone.
 *
 * @throws EnqueueRejected for a job that its batch does not take; the error of a call to another queue. Nothing is
 *   enqueued yet
 */
export async function askBatches(
  queue: { readonly name: string },
  others: OpenedQueues,
  jobs: readonly EncodedJob[],
): Promise<void> {
  for (const [batch, members] of groupBy(jobs, batchElsewhere)) {
    if (batch === undefined) {
      continue;
    }
    const home = splitRef('', batch);
    const adder = adderIn(home.queue, queue.name, members[0]!);
    for (let start = 0; start < members.length; start += MOST_PER_CALL) {
      const slice = members.slice(start, start + MOST_PER_CALL);
      const refs = slice.map(({ id }) => refTo(queue.name, id));
      const replies = await others.run(home.queue, (calls) =>
        calls.batches.known({ id: home.id, members: refs, adder }),
      );
      slice.forEach((job, i) => noteReply(job, replies[i]!, batch));
    }
  }
}

/** Returns the running member that adds a job, as the queue of its batch knows it; undefined for none. */
function adderIn(home: string, queue: string, { options }: EncodedJob): BatchAdder | undefined {
  if (!options?.addedBy) {
    return undefined;
  }
  const [own, id, token] = options.addedBy;
  const place = own === '' ? queue : own;
  return place === home ? { member: id, token } : { member: refTo(place, id), token: '' };
}

/** @throws EnqueueRejected */
function noteReply(job: EncodedJob, reply: KnownOutcome, batch: string): void {
  if (reply === 'known') {
    job.options = { ...job.options, wasMember: true };
  } else if (reply !== 'new') {
    throw new EnqueueRejected(job, 0, {
      reason: reply,
      about: reply === 'lost' ? job.options!.addedBy![1] : batch,
    });
  }
}

/** The most marks of earlier senders that one call looks at. */
const MOST_MARKS = 100;

/** Returns whether an entry of an outbox is a follow-up, and not the end of a job. */
export function isFollowUp({ state }: MemberEnd): boolean {
  return FOLLOW_UP_KINDS.some((kind) => kind === state);
}

/**
 * Sends follow-ups of batches to one queue, each once, and acknowledges them; see docs/internals/batches.md. A
 * follow-up that the queue refuses stays in the outbox. Returns how many have left it.
 *
 * @throws the error of a call to one of the queues; the entries stay in the outbox
 */
export async function sendFollowUps(
  home: QueueAccess,
  others: OpenedQueues,
  name: string,
  entries: readonly MemberEnd[],
): Promise<number> {
  const source = `@batch-of:${home.name}`;
  const marks = await others.run(name, (calls) => calls.once.marks({ source, limit: MOST_MARKS }));
  const marked = marks.flatMap((mark) => entryOfMark(name, mark) ?? []);
  const asked = [...entries, ...marked.filter((mark) => !entries.some((entry) => endKey(entry) === endKey(mark)))];
  const attempt = async (leastFence?: number) => {
    const { fence, pending } = await home.exec((calls) => calls.batches.followUps({ entries: asked, leastFence }));
    const jobs = pending.flatMap(({ entry, job }) => (job ? [{ entry, job }] : []));
    const once = jobs.map(({ entry, job }): OnceEntry => ({ key: endKey(entry), job }));
    const sender = { source, fence, isUnbounded: true } as const;
    const reply = await others.run(name, (calls) => calls.once.enqueue({ sender, entries: once }));
    return { fence, pending, jobs, reply };
  };
  let sent = await attempt();
  if ('newerFence' in sent.reply) {
    sent = await attempt(sent.reply.newerFence);
  }
  const { fence, pending, jobs, reply } = sent;
  if ('newerFence' in reply) {
    return 0; // another sender has read later, and sends them
  }
  const done = jobs.filter((_, i) => isThere(reply.replies[i]!)).map(({ entry }) => entry);
  if (done.length > 0) {
    others.register(name);
  }
  if ((await home.exec((calls) => calls.batches.acknowledge({ ends: done, fence }))) < 0) {
    return 0;
  }
  const kept = new Set(pending.map(({ entry }) => endKey(entry)));
  const left = marked.map(endKey).filter((key) => !kept.has(key));
  const keys = [...new Set([...done.map(endKey), ...left])];
  await (keys.length > 0 && others.run(name, (calls) => calls.once.forget({ source, keys })));
  return done.length;
}

/** Returns the key of an entry's mark. A batch that gets the id of a forgotten one has another number. */
function endKey({ number, batch, id }: MemberEnd): string {
  return `${number}\t${batch}\t${id}`;
}

function entryOfMark(queue: string, mark: string): MemberEnd | undefined {
  const [number, batch, id] = mark.split('\t');
  return number !== undefined && batch !== undefined && id !== undefined
    ? { queue, batch, id, number, state: '', detail: '' }
    : undefined;
}

/** Returns whether the job is in its queue, now or before. */
function isThere(reply: OnceReply): boolean {
  return reply.outcome !== 'held' && reply.outcome !== 'refused' && !('full' in reply && reply.full);
}

/** Names the queue that an error came from. */
interface Blame {
  /** Returns the queue whose call has raised an error; undefined for a call that goes another way. */
  raiserOf(error: unknown): string | undefined;
}

/** The queues that failed or took nothing in one run. The run calls each of them no more, so it goes on with the others. */
export class UnreachedQueues {
  private readonly errors = new Map<string, unknown>();
  private readonly left = new Set<string>();

  /**
   * @param home the queue of the run
   * @param blame knows the errors of the calls to other queues; every other error is of `home`
   */
  constructor(
    private readonly home: string,
    private readonly blame: Blame,
  ) {}

  /**
   * Calls each queue of some items with its items, unless a call for it has failed. Returns the sum of what the calls
   * return.
   */
  async callOthers<Item extends { queue: string }>(
    items: readonly Item[],
    call: (queue: string, items: readonly Item[]) => Promise<number>,
  ): Promise<number> {
    let sum = 0;
    for (const [name, each] of groupBy(items, ({ queue }) => queue)) {
      if (!this.left.has(name)) {
        try {
          sum += await call(name, each);
        } catch (error) {
          this.note(name, error);
        }
      }
    }
    return sum;
  }

  /** Leaves out a queue that takes nothing now, which is no error. */
  leave(name: string): void {
    this.left.add(name);
  }

  /** The names of the first thousand queues that the run calls no more. They are enough for one call. */
  get names(): string[] {
    return [...this.left].slice(0, LARGEST_PAGE);
  }

  /** The number of queues that the run calls no more. */
  get size(): number {
    return this.left.size;
  }

  /** The queues that have raised an error, each with its first. */
  get all(): ReadonlyMap<string, unknown> {
    return this.errors;
  }

  private note(name: string, error: unknown): void {
    this.left.add(name);
    const raiser = this.blame.raiserOf(error) ?? this.home;
    if (!this.errors.has(raiser)) {
      this.errors.set(raiser, error);
    }
  }
}

/** The most batches that one look reads, and the most members of each. The doctor reads all. */
const MOST_BATCHES = 10;
const MOST_MEMBERS = 20;

/** A member that is gone although its batch waits for it. */
export type LostMember = OpenMember;

/**
 * Finds members for which a batch of the queue waits although they are nowhere, in this queue or another. It reads the
 * oldest open members of a few batches, so its cost has a bound.
 */
export async function lostMembers(queue: QueueAccess): Promise<LostMember[]> {
  const read = () =>
    queue.exec((calls) => calls.batches.openMembers({ batches: MOST_BATCHES, members: MOST_MEMBERS }));
  const others = new OpenedQueues(queue, queue.callLimit);
  const lost: LostMember[] = [];
  for (const [name, members] of groupBy(await read(), (member) => member.queue)) {
    const ends = await others.run(name, (calls) => calls.batches.ends({ home: queue.name, members }));
    // A report that is on its way has a number.
    const gone = new Set(ends.filter(({ number, state }) => number === '0' && state === 'removed').map(memberKey));
    lost.push(...members.filter((member) => gone.has(memberKey(member))));
  }
  if (lost.length === 0) {
    return lost;
  }
  const open = new Set((await read()).map(placeOf)); // a member may have ended between the two reads
  return lost.filter((member) => open.has(placeOf(member)));
}

function memberKey({ batch, id }: { batch: string; id: string }): string {
  return `${batch}\t${id}`;
}

function placeOf(member: OpenMember): string {
  return `${member.queue}\t${memberKey(member)}`;
}
