import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { JobQueueService } from 'nest-job-queue';
import type { AppointmentDto } from './appointment.dto.js';

const DAY_MS = 86_400_000;

@Injectable()
export class AppointmentsService {
  constructor(private readonly jobs: JobQueueService) {}

  /** Books an appointment: confirms it at once, and reminds of it a day before. */
  async book(appointment: AppointmentDto): Promise<{ id: string }> {
    const id = randomUUID();
    await this.jobs.enqueue('confirmation', appointment, { id: `confirmation:${id}` });
    await this.jobs.enqueue('calendar', { appointment: id, at: appointment.at }, { id: `calendar:${id}` });
    if (appointment.phone !== undefined) {
      const delayMs = Math.max(0, Date.parse(appointment.at) - DAY_MS - Date.now());
      const { phone, animal, at } = appointment;
      await this.jobs.enqueue('reminder', { phone, animal, at }, { id: `reminder:${id}`, delayMs });
    }
    return { id };
  }

  async cancel(id: string): Promise<void> {
    await this.jobs.cancel('reminder', `reminder:${id}`);
  }
}
