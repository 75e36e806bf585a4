import { Injectable, UseGuards, ValidationPipe } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import {
  JobHandler,
  JobPayload,
  JobQueueService,
  JobRef,
  RecurringJob,
  type Job,
  type JobHandlerOptionsFactory,
} from 'nest-job-queue';
import { Outbox } from '../common/outbox.js';
import { PracticeGuard } from '../common/practice.guard.js';
import { CurrentPractice } from '../common/practice.js';
import { AppointmentDto } from './appointment.dto.js';

/** Confirms an appointment in the name of its practice. It has one instance for each attempt, like CurrentPractice. */
@JobHandler('confirmation', { maxAttempts: 5, backoff: { type: 'exponential', delayMs: 1_000 } })
@UseGuards(PracticeGuard)
export class ConfirmationHandler {
  constructor(
    private readonly outbox: Outbox,
    private readonly practice: CurrentPractice,
  ) {}

  handle(@JobPayload(ValidationPipe) { owner, animal, at }: AppointmentDto) {
    const { sender, name } = this.practice.get();
    return this.outbox.send({ by: 'mail', from: sender, to: owner, text: `${animal}, ${at}, ${name}` });
  }
}

/** The gateway's limits are in the configuration. */
@Injectable()
export class SmsOptions implements JobHandlerOptionsFactory {
  constructor(private readonly config: ConfigService) {}

  createJobHandlerOptions() {
    return {
      concurrency: Number(this.config.get('SMS_CONCURRENCY', '2')),
      rateLimit: { limit: Number(this.config.get('SMS_PER_MINUTE', '60')), periodMs: 60_000 },
    };
  }
}

@JobHandler('reminder', { optionsFrom: SmsOptions, maxAttempts: 3 })
@UseGuards(PracticeGuard)
export class ReminderHandler {
  constructor(private readonly outbox: Outbox) {}

  handle(@JobPayload('phone') phone: string, @JobPayload('animal') animal: string, @JobRef() job: Job) {
    return this.outbox.send({
      by: 'sms',
      from: `${job.metadata.practice}`,
      to: phone,
      text: `Tomorrow: ${animal}`,
    });
  }
}

/** Handlers of small jobs in one provider. */
@Injectable()
export class AppointmentHandlers {
  readonly calendar = new Map<string, string>();

  constructor(private readonly jobs: JobQueueService) {}

  @JobHandler('calendar')
  enter({ payload }: Job<{ appointment: string; at: string }>) {
    this.calendar.set(payload.appointment, payload.at);
  }

  /** Looks each morning for animals whose vaccination is due. */
  @JobHandler('vaccinations')
  @RecurringJob({ cron: '0 7 * * *', timeZone: 'Europe/Berlin' }, { payload: { practice: 'north' } })
  async lookForVaccinations({ payload }: Job<{ practice: string }>) {
    const due = [{ phone: '+49 1', animal: 'Rex' }];
    await this.jobs.enqueueMany(
      'reminder',
      due.map((animal) => ({ payload: animal, metadata: { practice: payload.practice } })),
    );
    return due.length;
  }
}
