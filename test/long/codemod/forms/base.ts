import { Job, JobsOptions, Queue } from 'bullmq';

/** What all services of queues share. */
export abstract class QueueService {
  abstract get queue(): Queue;

  async ready(): Promise<void> {
    await this.queue.waitUntilReady();
  }

  protected async addJob<Data, Result>(
    name: string,
    data: Data,
    options?: JobsOptions,
  ): Promise<Job<Data, Result>> {
    return this.queue.add(name, data, options);
  }

  protected async addJobs<Data>(jobs: { name: string; data: Data; opts?: JobsOptions }[]) {
    return this.queue.addBulk(jobs);
  }

  async pauseQueue(): Promise<void> {
    return this.queue.pause();
  }

  async resumeQueue(): Promise<void> {
    return this.queue.resume();
  }

  async isIdle(): Promise<boolean> {
    return (await this.queue.getActiveCount()) === 0 && (await this.queue.count()) === 0;
  }
}

/** Waits until nothing waits or runs. */
export async function untilIdle(services: QueueService[]): Promise<void> {
  while (!(await Promise.all(services.map((each) => each.isIdle()))).every(Boolean)) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
