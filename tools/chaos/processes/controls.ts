// An operator's calls on the queue and its schedules. It records each call, its reply, and then the state of both.
import type { JobQueue } from '#queue/job-queue.js';
import { sleep } from '../../../test/support/faults/wait.js';
import type { Control } from '../histories/history.js';
import { lookAt } from '../histories/look.js';
import type { Tools } from './role.js';
import type { Random } from '../random.js';
import { BY_HAND, SCHEDULES, type ScheduleId } from './workload.js';

const PAUSE_MS = 300;
/** Long enough that some ticks of a paused or removed schedule fall into it. */
const COOLDOWN_MS = 800;
const LOOK_MS = 1_000;
const IDS = Object.keys(SCHEDULES) as ScheduleId[];

export class Controls {
  /** True if the queue and all schedules are running. */
  private settled = false;
  private round = 0;
  private lookedAt = 0;

  constructor(
    private readonly queue: JobQueue,
    private readonly tools: Tools,
    private readonly random: Random,
  ) {}

  /** Makes the schedules, and reverts what a call without a reply may have left behind. */
  async settle(): Promise<void> {
    if (this.settled) return;
    await this.call('resume', '', () => this.queue.resume());
    for (const id of IDS) await this.upsert(id);
    await this.resumeSchedule();
    this.settled = true;
  }

  async pause(): Promise<void> {
    this.settled = false;
    await this.callAndLook('pause', '', () => this.queue.pause());
    await sleep(PAUSE_MS);
    await this.look();
    await this.callAndLook('resume', '', () => this.queue.resume());
    this.settled = true;
  }

  /** Acts on a random schedule. */
  async schedule(): Promise<void> {
    this.settled = false;
    const { schedules } = this.queue;
    switch (this.random.pick(['pause', 'remove', 'change', 'run', 'run'] as const)) {
      case 'pause':
        await this.callAndLook('pause-schedule', BY_HAND, () => schedules.pause(BY_HAND));
        await sleep(COOLDOWN_MS);
        await this.look();
        await this.resumeSchedule();
        break;
      case 'remove':
        await this.callAndLook('remove-schedule', BY_HAND, () => schedules.remove(BY_HAND));
        await sleep(COOLDOWN_MS);
        await this.look();
        await this.upsert(BY_HAND);
        await this.look();
        break;
      case 'change':
        this.round++;
        await this.upsert(BY_HAND);
        await this.look();
        break;
      default:
        await this.call('run-now', BY_HAND, async () => (await schedules.runNow(BY_HAND)).id);
    }
    this.settled = true;
  }

  /** Looks now and then, so that the histories also cover the time between calls. */
  async lookNowAndThen(): Promise<void> {
    if (performance.now() - this.lookedAt > LOOK_MS) await this.look();
  }

  /** Resumes everything, because a paused queue or an endless schedule would block the end of the run. */
  async end(): Promise<void> {
    await this.callAndLook('resume', '', () => this.queue.resume());
    for (const id of IDS) await this.call('remove-schedule', id, () => this.queue.schedules.remove(id));
    await this.look();
  }

  private resumeSchedule(): Promise<void> {
    return this.callAndLook('resume-schedule', BY_HAND, () => this.queue.schedules.resume(BY_HAND));
  }

  private upsert(id: ScheduleId): Promise<void> {
    const { everyMs, ...options } = SCHEDULES[id];
    const payload = id === BY_HAND ? { round: this.round } : null;
    return this.call('upsert', id, () => this.queue.schedules.upsert(id, { everyMs }, { ...options, payload }));
  }

  private async call(control: Control, schedule: string, act: () => Promise<unknown>): Promise<void> {
    const { history } = this.tools;
    history.add(['asks', control, schedule]);
    await history.written();
    history.add(['told', control, schedule, String(await act())]);
    await history.written();
  }

  private async callAndLook(...call: Parameters<Controls['call']>): Promise<void> {
    await this.call(...call);
    await this.look();
  }

  private async look(): Promise<void> {
    const { history, logger } = this.tools;
    try {
      history.add(['look', await lookAt(this.queue, IDS)]);
      this.lookedAt = performance.now();
    } catch (error) {
      logger.warn(`look: ${(error as Error).message}`);
    }
  }
}
