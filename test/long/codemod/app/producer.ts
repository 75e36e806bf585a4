import { InjectQueue } from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
import { Queue } from 'bullmq';
import { Queues, TRANSCODE } from './queues.js';

@Injectable()
export class Producer {
  constructor(
    @InjectQueue(Queues.Audio) private readonly audio: Queue,
    @InjectQueue(Queues.Image) private readonly images: Queue,
    @InjectQueue(Queues.Mail) private readonly mails: Queue,
  ) {}

  /** Adds all jobs. */
  async produce(): Promise<void> {
    await this.audio.add(TRANSCODE, { file: 'a.wav' }, { jobId: 'track-a' });
    await this.audio.add('normalize', { file: 'b.wav' }, { delay: 50 });
    await this.images.addBulk([
      { name: 'shrink', data: { key: 'fine' } },
      { name: 'shrink', data: { key: 'flaky' }, opts: { attempts: 3, backoff: { type: 'fixed', delay: 20 } } },
      { name: 'shrink', data: { key: 'broken' }, opts: { attempts: 5 } },
      { name: 'crop', data: { key: 'unlucky' } },
    ]);
    await this.mails.add('welcome', { to: 'ada' });
    await this.mails.add('welcome', { to: 'later' });
    await this.mails.upsertJobScheduler(
      'yearly',
      { pattern: '0 0 1 1 *', tz: 'UTC' },
      { name: 'greet', data: { to: 'all' } },
    );
  }

  /** Returns what the queues say at the end. */
  async outcome() {
    const track = await this.audio.getJob('track-a');
    const counts = await this.images.getJobCounts('waiting', 'active', 'failed');
    const [schedule] = await this.mails.getJobSchedulers();
    return {
      track: track?.data,
      result: track?.returnvalue,
      isDone: (await track?.getState()) === 'completed',
      waiting: counts.waiting,
      failed: counts.failed,
      hasSchedule: schedule !== undefined,
      isPaused: await this.mails.isPaused(),
    };
  }
}
