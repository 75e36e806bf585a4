import { JobHandler, type Job } from 'nest-job-queue';
import { settings } from '../settings.js';
import { Trouble } from '../trouble/trouble.js';

export interface OtherPayload {
  kind: string;
}

/** A job of a kind without work: it takes as long, fails and hangs as often, and makes nothing. */
@JobHandler('other', { queue: settings.queue })
export class OtherHandler {
  constructor(private readonly trouble: Trouble) {}

  handle(job: Job<OtherPayload>): Promise<OtherPayload> {
    return this.trouble.around(job, () => Promise.resolve({ kind: job.payload.kind }));
  }
}
