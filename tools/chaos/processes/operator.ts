// An operator of a run: looks at jobs and acts on some of them, one call after the other.
import { JobQueue } from '#queue/job-queue.js';
import type { JobRecord, JobStatus } from '#queue/model/job.js';
import { sleep } from '../../../test/support/faults/wait.js';
import { Controls } from './controls.js';
import type { Verb } from '../histories/history.js';
import type { Stop, Tools } from './role.js';
import { Random } from '../random.js';
import { queueOptions, type Work } from './workload.js';

/** The pause between two audits. */
const DOCTOR_MS = 4_000;
const DOCTOR_UNDER_LOAD_MS = 30_000;

/** A time longer than the first copy of a repeated call may be in flight. */
const OLD_MS = 30_000;

export async function startOperator(tools: Tools): Promise<Stop> {
  const queue = new JobQueue(tools.redis, tools.options.queue, queueOptions(tools.options.load));
  const operator = new Operator(tools, queue);
  const stopping = new AbortController();
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      await operator.act().catch((error: Error) => tools.logger.warn(error.message));
      await sleep(tools.options.load ? 500 : 100);
    }
  })();
  return async () => {
    stopping.abort();
    await loop;
    await operator.end();
    queue.close();
  };
}

class Operator {
  private readonly random: Random;
  private readonly controls: Controls;
  private doctorAt = -Infinity;

  constructor(
    private readonly tools: Tools,
    private readonly queue: JobQueue,
  ) {
    this.random = new Random(tools.options.seed);
    this.controls = new Controls(queue, tools, this.random);
  }

  async act(): Promise<void> {
    const { controls, random } = this;
    await controls.settle();
    await controls.lookNowAndThen();
    await this.callDoctor();
    const spot = random.next();
    if (spot < 0.35) await this.cancel(random.pick(['scheduled', 'processing', 'pending'] as const));
    else if (spot < 0.53) await this.redrive();
    else if (spot < 0.55) await this.discard();
    else if (spot < 0.65)
      await this.onTarget('scheduled', 'reschedule', (id) => this.queue.reschedule(id, { delayMs: 0 }));
    else if (spot < 0.75) await this.removeLater();
    else if (spot < 0.8) await controls.pause();
    else if (spot < 0.85) await controls.schedule();
    else await this.queue.stats();
  }

  /** Repeats the call until it is answered. */
  async end(): Promise<void> {
    for (;;) {
      try {
        return await this.controls.end();
      } catch (error) {
        this.tools.logger.warn((error as Error).message);
        await sleep(200);
      }
    }
  }

  /** Calls the doctor beside the traffic. */
  private async callDoctor(): Promise<void> {
    const { history, options } = this.tools;
    if (performance.now() - this.doctorAt < (options.load ? DOCTOR_UNDER_LOAD_MS : DOCTOR_MS)) return;
    this.doctorAt = performance.now();
    history.add(['audit']);
    const { findings, checked } = await this.queue.doctor({ repair: true });
    history.add(['audited', checked]);
    for (const { kind, subject, found } of findings) history.add(['repaired', kind, subject, found]);
  }

  /** Cancels a job. Removing a job from a long list is slow for the server, so it skips long lists. */
  private async cancel(status: JobStatus): Promise<void> {
    if (status === 'pending' && (await this.queue.stats()).pending > 500) return;
    await this.onTarget(status, 'cancel', (id) => this.queue.cancel(id));
  }

  private async redrive(): Promise<void> {
    // A job that fails for good at once would only fail again.
    await this.onTarget('failed', 'redrive', (id) => this.queue.deadLetters.redriveMany([id]));
  }

  /**
   * Discards a job that no producer enqueues again, because a repeat under its id would make a new job. A producer
   * at a later batch has finished the earlier ones. The latest job tells their age, because this process's clock
   * may be wrong.
   */
  private async discard(): Promise<void> {
    const page = await this.queue.list('failed', { limit: 100 });
    const latestMs = page[0]?.failedAt?.getTime() ?? 0;
    const works = page.flatMap(({ payload }) => (isWork(payload) ? [payload] : []));
    const isAnswered = ({ p, n }: Work) =>
      works.some((later) => later.p === p && later.n - n >= this.tools.options.batch);
    const old = page.filter(
      ({ payload, failedAt }) =>
        isWork(payload) &&
        payload.kind !== 'unique' &&
        isAnswered(payload) &&
        failedAt &&
        latestMs - failedAt.getTime() > OLD_MS,
    );
    const discard = async (id: string) => Number(await this.queue.deadLetters.discard(id));
    if (old.length > 0) await this.call('discard', this.random.pick(old), discard);
  }

  /** Removes only jobs that nobody else touches, because the checker cannot see how a removed job had ended. */
  private async removeLater(): Promise<void> {
    const total = (await this.queue.stats()).scheduled;
    const page = await this.queue.list('scheduled', { offset: Math.max(0, total - 20), limit: 20 });
    const later = page.filter((job) => (job.payload as Work | undefined)?.kind === 'later');
    if (later.length > 0) await this.call('remove', this.random.pick(later), (id) => this.queue.remove(id));
  }

  private async onTarget(status: JobStatus, verb: Verb, act: (id: string) => Promise<unknown>): Promise<void> {
    const page = await this.queue.list(status, { limit: 20 });
    const jobs = page.filter((job) => isWork(job.payload) && job.payload.kind !== 'later');
    if (jobs.length > 0) await this.call(verb, this.random.pick(jobs), act);
  }

  private async call(verb: Verb, job: JobRecord, act: (id: string) => Promise<unknown>): Promise<void> {
    const { p, n } = job.payload as Work;
    const { history } = this.tools;
    history.add(['call', verb, p, n]);
    await history.written();
    history.add(['answered', verb, p, n, String(await act(job.id))]);
    await history.written();
  }
}

function isWork(payload: unknown): payload is Work {
  return typeof (payload as Work | null | undefined)?.p === 'number';
}
