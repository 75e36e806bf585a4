import { Injectable } from '@nestjs/common';
import { JobHandler, type Job, type PayloadOf } from 'nest-job-queue';
import { Unknown } from '../common/errors.js';
import { AnonymizeRecord, ImportLabResult } from './record.jobs.js';

/** The records of animals; a database in a real app. */
@Injectable()
export class Records {
  private readonly byAnimal = new Map<string, Record<string, number>>();

  add(animal: string, values: Record<string, number>): void {
    this.byAnimal.set(animal, values);
  }

  remove(animal: string): void {
    if (!this.byAnimal.delete(animal)) {
      throw new Unknown(`no record of ${animal}`);
    }
  }

  get size(): number {
    return this.byAnimal.size;
  }
}

/** Three kinds of jobs share the queue `records`. */
@Injectable()
export class RecordHandlers {
  constructor(private readonly records: Records) {}

  @JobHandler(ImportLabResult)
  importResult({ payload }: Job<PayloadOf<typeof ImportLabResult>>) {
    this.records.add(payload.animal, payload.values);
    return { abnormal: Object.keys(payload.values).filter((name) => payload.values[name]! > 100) };
  }

  @JobHandler(AnonymizeRecord)
  anonymize({ payload }: Job<PayloadOf<typeof AnonymizeRecord>>) {
    this.records.remove(payload.animal);
  }

  @JobHandler('statistics', { queue: 'records' })
  statistics() {
    return { records: this.records.size };
  }
}
