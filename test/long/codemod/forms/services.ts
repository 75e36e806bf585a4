import { InjectQueue, Processor, WorkerHost } from '@nestjs/bullmq';
import { Injectable, Optional } from '@nestjs/common';
import { Job, Queue } from 'bullmq';
import { QueueService } from './base.js';
import { Journal } from './journal.js';

const GREETING = { to: 'bob', subject: 'Hello', attempts: 1, delay: 60_000, jobId: 'none' };
/** Tried thrice. */
const KEPT = { attempts: 3, backoff: { type: 'fixed', delay: 5 } };

@Injectable()
export class MailService extends QueueService {
  private readonly mails: Queue;

  constructor(
    @InjectQueue('mail') injected: Queue,
    private readonly journal: Journal,
    @Optional() @InjectQueue('mail') private readonly others?: Queue,
  ) {
    super();
    this.mails = injected;
  }

  get queue(): Queue {
    return this.mails;
  }

  async all(): Promise<void> {
    const data = { to: 'ada', subject: 'Welcome', attempts: 3, delay: 60_000, priority: 5 };
    await this.mails.add('welcome', data);
    await this.mails.add('greet', GREETING);
    await this.mails.add('kept', { to: 'cora' }, KEPT);
    await this.mails.add('spread', { to: 'dora' }, { ...KEPT, attempts: 2 });
    await this.mails.add('once', { to: 'flaky-once' }, { attempts: 1 });
    await this.others?.add('optional', { to: 'emma' });
    await this.mails
      .add('caught', { to: 'fred' })
      .then((job) => this.journal.note('then', job.name))
      .catch((error) => this.journal.note('then', String(error)))
      .finally(() => this.journal.note('then', 'added'));
    await this.mails.add('text', 'only a text');
    // A list that is gathered.
    const list = [];
    for (const to of ['gus', 'hal']) {
      list.push({ name: 'listed', data: { to, priority: 1 } });
    }
    if (list.length > 0) await this.mails.addBulk(list);
    await this.mails.addBulk(
      ['ina', 'joe'].map((to) => {
        const name = 'block';
        return { name, data: { to }, opts: { attempts: 4, backoff: { type: 'fixed', delay: 5 } } };
      }),
    );
    await this.addJobs([{ name: 'typed', data: { to: 'kim' }, opts: { delay: 5 } }]);
    const job = await this.addJob<{ to: string }, string>('wrapped', { to: 'lea' }, { delay: 1 });
    this.journal.note('then', job.name);
  }
}

@Injectable()
export class Saves extends QueueService {
  constructor(@InjectQueue('history') private readonly history: Queue) {
    super();
  }

  get queue() {
    return this.history;
  }

  async save(page: string, delay = 0): Promise<void> {
    await this.history.add('save', { page }, { jobId: `page-${page}`, delay });
  }
}

@Injectable()
export class Orders {
  constructor(@InjectQueue('order') readonly orders: Queue) {}

  async ranked(): Promise<void> {
    for (const [name, priority] of [['third', 30] as const, ['first', 1] as const, ['second', 2] as const]) {
      if (priority === 30) await this.orders.add(name, { subject: 'ranked' }, { priority: 30 });
      else if (priority === 1) await this.orders.add(name, { subject: 'ranked' }, { priority: 1, lifo: true });
      else await this.orders.add(name, { subject: 'ranked' }, { priority: 2 });
    }
  }
}

@Injectable()
@Processor('image', { concurrency: 1 })
export class Images extends WorkerHost {
  constructor(
    @InjectQueue('image') readonly queue: Queue,
    private readonly journal: Journal,
  ) {
    super();
  }

  async process(job: Job): Promise<string> {
    this.journal.note('images', `${job.name} ${job.data.key}`);
    return String(job.data.key).toUpperCase();
  }

  async stacked(): Promise<void> {
    for (const key of ['a', 'b', 'c']) await this.queue.add('stack', { key }, { lifo: true });
  }

  /** Returns what the queue says while it is paused. */
  async look() {
    const counts = await this.queue.getJobCounts('waiting', 'delayed');
    const { waiting, active } = await this.queue.getJobCounts('waiting', 'active');
    const [jobs, names] = await Promise.all([
      this.queue.getWaiting(0, 9),
      this.queue.getWaiting(0, 9).then((list) => list.map((job) => `${job.name} ${job.data.key}`)),
    ]);
    const first = jobs.find((job) => job.data.key === 'b') ?? jobs[0];
    const state = await first?.getState();
    return {
      waiting: counts.waiting,
      same: waiting === counts.waiting,
      active,
      names: names.toSorted(),
      isLater: state === 'delayed',
      isWaiting: state === 'waiting',
    };
  }
}
