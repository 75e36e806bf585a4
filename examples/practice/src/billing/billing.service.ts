import { Injectable } from '@nestjs/common';
import { InjectQueue, type JobQueue } from 'nest-job-queue';

/** A treatment to be billed. */
export interface Treatment {
  owner: string;
  cents: number;
}

/** Enqueues on the server of the billing, whose payloads are encrypted. */
@Injectable()
export class BillingService {
  constructor(@InjectQueue('invoice', 'billing') private readonly invoices: JobQueue) {}

  async bill(treatment: Treatment): Promise<{ id: string }> {
    const { id } = await this.invoices.enqueue(treatment);
    return { id };
  }
}
