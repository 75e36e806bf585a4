// Publications to a topic while publishers and workers are killed, by a seed. A deploy moves and adds subscriptions, and the server
// loses the register alone. A call may be sent twice. A planted fault changes the text of scripts.
import { ScriptStore } from '#memory/script-store.js';
import { JobQueue } from '#queue/job-queue.js';
import { jobIdOf, jobNameOf, PUBLICATIONS, publicationsOf } from '#queue/model/topic.js';
import { DeclaredTopics } from '#queue/register/declared-topics.js';
import { keptIn } from '#queue/runtime/collections.js';
import { VirtualClock } from '#testing/time/virtual-clock.js';
import { TopicPublisher } from '#worker/topics.js';
import { Worker } from '#worker/worker.js';
import { Random } from '../chaos/random.js';
import { faultyStore, type Killed, PlantedServer } from './planted-server.js';
import type { Edit } from './plants/plant.js';
import { settled } from './settled.js';

const TOPIC = 'order.paid';
/** The publications of a phase. */
const ROUND = 12;
/** The time after which a publisher without a reply is replaced, in ms. */
const PATIENCE_MS = 3_000;
/** The time in which a live worker checks its announcement, and adds lost subscriptions, in ms. */
const CHECK_MS = 160_000;
/** The time after which a dead worker counts no more, in ms. */
const GONE_MS = 40_000;

/** The queues of the subscriptions of a version of the app. The second moves one, adds one, and drops one. */
const OLD = { a: 'a', b: 'b', d: 'd' };
const NEW = { a: 'a', b: 'b-moved', c: 'c' };
type Version = Readonly<Record<string, string>>;

/** The processes of a run, what they publish, and what was wrong. */
class Fleet {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly server: PlantedServer;
  readonly violations = new Set<string>();
  private readonly workers: { worker: Worker; process: Killed }[] = [];
  private published = 0;

  constructor(seed: number, edits: readonly Edit[]) {
    this.clock = new VirtualClock(Date.UTC(2030, 0, 1), seed);
    this.random = new Random(seed);
    this.server = new PlantedServer(this.clock, edits);
  }

  /** Starts a worker of a version, which declares its subscriptions before. */
  async start(version: Version): Promise<void> {
    const { store, process, queueOf, publisher } = this.newProcess();
    const declared = DeclaredTopics.of(store);
    for (const [name, queue] of Object.entries(version)) {
      declared.add(queueOf(PUBLICATIONS), { topic: TOPIC, name, queue });
    }
    await settled(this.clock, declared.keepWriting(process));
    const handOn = { [TOPIC]: publisher.handler };
    const served = Object.entries(version).map(([name, queue]) => ({
      queue: queueOf(queue),
      handlers: { [jobNameOf({ topic: TOPIC, name })]: () => undefined },
    }));
    const worker = new Worker([{ queue: queueOf(publicationsOf(TOPIC)), handlers: handOn }, ...served], {});
    this.workers.push({ worker, process });
    await settled(this.clock, worker.start());
  }

  /** Kills the workers that have run longest. */
  kill(count: number): void {
    this.workers.splice(0, count).forEach(({ process }) => (process.isDead = true));
  }

  /** Publishes several times, and checks that each of the subscriptions gets each publication once, in its queue. */
  async round(expected: Version): Promise<void> {
    const ids = Array.from({ length: ROUND }, () => `p-${this.published++}`);
    await Promise.all(ids.map((id, i) => this.publish(id, i % 2 === 0 ? 'caller' : 'worker')));
    await this.clock.advance(10 * PATIENCE_MS); // until workers have handed on what they got
    for (const id of ids) await this.check(id, expected);
  }

  /** Lets live workers check their announcements. A subscription must keep the queue that the last boot has given it. */
  async watch(version: Version): Promise<void> {
    const { topics } = this.direct(PUBLICATIONS);
    for (const until = this.clock.now() + CHECK_MS; this.clock.now() < until;) {
      await this.clock.advance(5_000);
      for (const { name, queue } of await topics.of(TOPIC)) {
        if (version[name] !== queue) this.violations.add(`subscription ${name} was moved back`);
      }
    }
  }

  async stop(): Promise<void> {
    const ended = this.workers.map(({ worker }) => worker.stop({ timeoutMs: 1_000 }));
    await settled(this.clock, Promise.all(ended));
  }

  /** Returns a queue that is reached without faults. */
  direct(name: string): JobQueue {
    return new JobQueue(new ScriptStore(this.clock, { server: this.server }), name);
  }

  private newProcess() {
    const process: Killed = { isDead: false };
    const store = faultyStore(this, { longestMs: 40, lost: 0, repeated: 0.3 }, process);
    const queues = new Map<string, JobQueue>();
    const options = { visibilityMs: 2_000, maxAttempts: 100, maxCrashes: 100 };
    const queueOf = (name: string) => keptIn(queues, name, () => new JobQueue(store, name, options));
    const publisher = new TopicPublisher({ store, reference: queueOf, requested: queueOf });
    return { process, store, queueOf, publisher };
  }

  /** Publishes until a process gets the reply. Some are killed before. */
  private async publish(id: string, fanOut: 'caller' | 'worker'): Promise<void> {
    for (let isDone = false; !isDone;) {
      const { process, publisher } = this.newProcess();
      if (this.random.chance(0.5)) {
        this.clock.setTimeout(() => (process.isDead = true), this.random.between(0, 300));
      }
      const sent = publisher.publish(TOPIC, { id }, { id, fanOut }).then(
        () => true,
        ({ name }: Error) => !process.isDead && this.violations.add(`a publication failed by a ${name}`).size > 0,
      );
      const gaveUp = new Promise<boolean>((resolve) => this.clock.setTimeout(() => resolve(false), PATIENCE_MS));
      isDone = await settled(this.clock, Promise.race([sent, gaveUp]));
    }
  }

  private async check(id: string, expected: Version): Promise<void> {
    for (const [name, queue] of [...Object.entries(OLD), ...Object.entries(NEW)]) {
      const job = await this.direct(queue).get(jobIdOf(id, jobNameOf({ topic: TOPIC, name })));
      const isExpected = expected[name] === queue;
      if (job && !isExpected) this.violations.add(`a publication went to the queue ${queue}`);
      if (!job && isExpected) this.violations.add(`subscription ${name} missed a publication`);
      if (job && isExpected && job.attempts - job.crashes !== 1) this.violations.add('a job did not run once');
    }
  }
}

/** Publishes through a deploy, a loss of the register and a removal. Returns what was wrong. */
export async function published(seed: number, edits: readonly Edit[] = []): Promise<string[]> {
  const fleet = new Fleet(seed, edits);
  const { clock } = fleet;
  await fleet.start(OLD);
  await fleet.start(OLD);
  await fleet.round(OLD);
  fleet.kill(1);
  await fleet.start(NEW);
  await fleet.watch({ ...OLD, ...NEW }); // a worker of the old version checks too
  await fleet.round({ ...OLD, ...NEW });
  fleet.server.keys.delete('queue:topics');
  await clock.advance(CHECK_MS);
  await fleet.start(NEW);
  fleet.kill(1);
  await clock.advance(GONE_MS);
  await settled(clock, fleet.direct(PUBLICATIONS).topics.remove(TOPIC, 'd'));
  await fleet.round(NEW);
  await fleet.stop();
  return [...fleet.violations];
}
