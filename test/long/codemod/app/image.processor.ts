import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { Job, UnrecoverableError } from 'bullmq';
import { Journal } from './journal.js';
import { Queues } from './queues.js';

@Processor(Queues.Image)
export class ImageProcessor extends WorkerHost {
  constructor(private readonly journal: Journal) {
    super();
  }

  async process(job: Job<{ key: string }>): Promise<void> {
    this.journal.note(`${job.name} ${job.data.key}, attempt ${job.attemptsMade + 1}`);
    if (job.data.key === 'flaky' && job.attemptsMade === 0) throw new Error('try again');
    if (job.data.key === 'broken') throw new UnrecoverableError('no picture');
    if (job.data.key === 'unlucky') throw new Error('always');
  }

  @OnWorkerEvent('failed')
  onFailed(job: Job<{ key: string }> | undefined, error: Error) {
    this.journal.note(`failed ${job?.data.key} at attempt ${job?.attemptsMade}: ${error.message}`);
  }
}
