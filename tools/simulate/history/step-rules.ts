// Steps of jobs: once an attempt has the result of a step, every later attempt gets the same.
import type { Job } from '#worker/handlers/job.js';
import type { Fault, Known } from './known.js';

export class StepRules {
  private results = 0;
  /** The results that attempts got, by job and step. */
  private readonly known = new Map<string, { fence: number; value: number }>();

  private readonly deleted = new Set<string>();

  constructor(
    private readonly jobs: ReadonlyMap<string, Known>,
    private readonly fault: Fault,
  ) {}

  /** Returns a result that no other run of a step has. */
  nextResult(): number {
    return ++this.results;
  }

  /** Checks the result that a step gave an attempt. A job that may be another one with its id is left out. */
  returned({ id, fence }: Pick<Job, 'id' | 'fence'>, step: string, value: number): void {
    const { isPlain, removed, broken, again } = this.jobs.get(id)!;
    if (!isPlain || removed || broken || again || this.deleted.has(id)) {
      return;
    }
    const known = this.known.get(`${id} ${step}`);
    if (known && known.value !== value) {
      this.fault(
        `step: ${step} of ${id} gave ${value} to claim ${fence}, and ${known.value} to claim ${known.fence}`,
      );
    }
    this.known.set(`${id} ${step}`, { fence, value });
  }

  /** Called before the payload of a job is replaced, which deletes its steps. From then on they are not compared. */
  deletes(id: string): void {
    this.deleted.add(id);
  }
}
