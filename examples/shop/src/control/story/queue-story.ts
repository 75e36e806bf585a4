import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { JobEvent } from 'nest-job-queue';
import { QueueAccess } from '../queue-access.js';
import { nameOf } from './name-of.js';
import { Story } from './story.js';
import { Troubles } from './troubles.js';

/** Tells what happens to jobs, by the events that the queue publishes, and when Redis goes and comes back. */
@Injectable()
export class QueueStory implements OnApplicationBootstrap, OnApplicationShutdown {
  private subscriber: Redis | undefined;
  private away = false;

  constructor(
    private readonly story: Story,
    private readonly troubles: Troubles,
    private readonly queue: QueueAccess,
  ) {}

  onApplicationBootstrap(): void {
    const { client } = this.queue;
    client.on('close', () => this.onRedis(true));
    client.on('ready', () => this.onRedis(false));
    this.subscriber = client.duplicate();
    // Told by the client of the queue.
    this.subscriber.on('error', () => undefined);
    this.subscriber.on('message', (_channel: string, message: string) =>
      this.hear(JSON.parse(message) as JobEvent),
    );
    this.subscriber.subscribe(`queue:${this.queue.name}:events`).catch(() => undefined);
  }

  onApplicationShutdown(): void {
    this.subscriber?.disconnect();
  }

  private onRedis(away: boolean): void {
    if (away === this.away) return;
    this.away = away;
    if (away) this.story.tell('bad', 'Redis does not answer. Workers and the shop wait, and try again.');
    else this.story.tell('good', 'Redis is back. The work goes on.');
  }

  private hear(event: JobEvent): void {
    const job = nameOf(event);
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
          `The claim of ${job} ran out: it is back at the front of the queue.`,
          'claims ran out; their jobs are back.',
        );
        return this.troubles.happened(event.id);
      case 'failed':
        this.troubles.forget(event.id);
        return tell(
          'bad',
          `${job} is given up: its attempts are used up. It is a dead letter now.`,
          'were given up.',
        );
    }
  }
}
