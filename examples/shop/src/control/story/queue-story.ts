import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { JobQueueService, type FleetJobEvent } from 'nest-job-queue';
import { QueueAccess } from '../../jobs/queue-access.js';
import { Labels } from './labels.js';
import { Story } from './story.js';
import { Troubles } from './troubles.js';

/** Reports events of jobs in any process, and when Redis goes and returns. */
@Injectable()
export class QueueStory implements OnApplicationBootstrap {
  private away = false;

  constructor(
    private readonly story: Story,
    private readonly troubles: Troubles,
    private readonly labels: Labels,
    private readonly queue: QueueAccess,
    private readonly jobs: JobQueueService,
  ) {}

  onApplicationBootstrap(): void {
    const { client, name } = this.queue;
    client?.on('close', () => this.onRedis(true));
    client?.on('ready', () => this.onRedis(false));
    // Ends with the app.
    this.jobs.events.where({ queue: name }).subscribe((event) => this.hear(event));
  }

  private onRedis(away: boolean): void {
    if (away === this.away) return;
    this.away = away;
    if (away) this.story.tell('bad', 'Redis does not answer. Workers and the shop wait, and try again.');
    else this.story.tell('good', 'Redis is back. The work continues.');
  }

  private hear(event: FleetJobEvent): void {
    const job = this.labels.of(event);
    const tell = (tone: 'plain' | 'good' | 'bad' | 'warn', text: string, summary: string) =>
      this.story.tellOften(`${event.status}:${tone}`, tone, text, event.id, summary);
    switch (event.status) {
      case 'completed':
        if (this.troubles.forget(event.id))
          tell('good', `${job} is completed after all.`, 'were completed after all.');
        else tell('plain', `${job} is completed.`, 'were completed.');
        return;
      case 'retry':
        tell('warn', `${job} failed; it will be tried again.`, 'failed and will be tried again.');
        return this.troubles.happened(event.id);
      case 'reclaimed':
        tell(
          'warn',
          `${job} was reclaimed: it is back at the front of the queue.`,
          'were reclaimed; they are back.',
        );
        return this.troubles.happened(event.id);
      case 'failed':
        this.troubles.forget(event.id);
        return tell('bad', `${job} is given up: it is a dead letter now.`, 'were given up.');
    }
  }
}
