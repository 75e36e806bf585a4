import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { Job } from 'bullmq';
import { Journal } from './journal.js';
import { Queues, TRANSCODE } from './queues.js';

interface Track {
  file: string;
}

@Processor(Queues.Audio, { concurrency: 2 })
export class AudioProcessor extends WorkerHost {
  constructor(private readonly journal: Journal) {
    super();
  }

  async process(job: Job<Track>): Promise<string> {
    switch (job.name) {
      case TRANSCODE: {
        await job.updateProgress(50);
        this.journal.note(`transcode ${job.data.file} as ${job.id}`);
        return job.data.file.replace('.wav', '.mp3');
      }
      case 'normalize':
        this.journal.note(`normalize ${job.data.file}`);
        return job.data.file;
      default:
        throw new Error(`unknown job ${job.name}`);
    }
  }

  @OnWorkerEvent('completed')
  onCompleted(job: Job<Track>, result: string) {
    this.journal.note(`completed ${job.name}: ${result}`);
  }
}
