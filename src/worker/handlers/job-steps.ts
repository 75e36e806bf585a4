import { AsyncLocalStorage } from 'node:async_hooks';
import { NonRetryableError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import { isId } from '../../queue/validation/names.js';

/** What the body of a step receives. */
export interface StepContext {
  /**
   * The same text in every attempt of this step, `{queue}:{id of the job}:{name}`. Pass it to a service that knows idempotency
   * keys.
   */
  readonly idempotencyKey: string;
  /** The signal of the job. */
  readonly signal: AbortSignal;
}

/** A step that cannot be run or recorded. Its attempt is the last. */
export class InvalidStepError extends NonRetryableError {
  /** The code of these errors, the same in every version. */
  static override readonly code: string = 'INVALID_STEP';

  constructor(
    /** The name of the step. */
    readonly step: string,
    expected: string,
    found: string,
    hint = '',
  ) {
    super(`step ${show(step)}: expected ${expected}, found ${found}.${hint && ` ${hint}`}`);
  }
}

/** Reads and records the steps of one attempt. */
interface StepStore {
  /** Returns the results of the recorded steps, by name. */
  read(): Promise<ReadonlyMap<string, unknown>>;
  /** Records a result, and returns it as later attempts get it. */
  record(name: string, result: unknown): Promise<unknown>;
}

const insideOf = new AsyncLocalStorage<string>();

/** @throws InvalidStepError inside of the body of a step, which must have no step and no wait of its own */
export function refuseInsideOfStep(name: string): void {
  const outer = insideOf.getStore();
  if (outer !== undefined) {
    throw new InvalidStepError(name, 'no step inside of a step', `one inside of ${show(outer)}`);
  }
}

/** The steps of one attempt: each runs once, and later attempts get its recorded result. */
export class JobSteps {
  private recorded: Promise<ReadonlyMap<string, unknown>> | undefined;
  /** The steps that run or have run in this attempt. */
  private readonly begun = new Set<string>();

  constructor(
    private readonly job: { readonly queue: string; readonly id: string; readonly signal: AbortSignal },
    private readonly store: StepStore,
  ) {}

  async run(name: string, body: (step: StepContext) => unknown): Promise<unknown> {
    this.check(name, body);
    this.begun.add(name);
    try {
      const recorded = await this.read();
      if (recorded.has(name)) {
        return recorded.get(name);
      }
      return await this.store.record(name, await this.runBody(name, body));
    } catch (error) {
      this.begun.delete(name); // the handler may run it again
      throw error;
    }
  }

  private read(): Promise<ReadonlyMap<string, unknown>> {
    this.recorded ??= this.store.read().catch((error: unknown) => {
      this.recorded = undefined;
      throw error;
    });
    return this.recorded;
  }

  private async runBody(name: string, body: (step: StepContext) => unknown): Promise<unknown> {
    const { job } = this;
    const context: StepContext = {
      idempotencyKey: `${job.queue}:${job.id}:${name}`,
      get signal() {
        return job.signal;
      },
    };
    return insideOf.run(name, () => body(context));
  }

  /** @throws InvalidStepError */
  private check(name: string, body: unknown): void {
    if (!isId(name)) {
      throw new InvalidStepError(String(name), 'a name of 1 to 128 characters of text', show(name));
    }
    if (typeof body !== 'function') {
      throw new InvalidStepError(name, 'a function that does the work', show(body));
    }
    refuseInsideOfStep(name);
    if (this.begun.has(name)) {
      const hint = 'In a loop, put the item into the name.';
      throw new InvalidStepError(name, 'a name that comes once in an attempt', 'it twice', hint);
    }
  }
}
