import type { JobDefinition } from '../../queue/enqueue/define-job.js';
import { InvalidOptionError, JobWaitsError, SignalTimeoutError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';
import type { JobWait } from '../../queue/model/signal.js';
import { schemaOf } from '../../queue/enqueue/send-signal.js';
import { YEAR_MS } from '../../queue/runtime/bounds.js';
import { isId } from '../../queue/validation/names.js';
import { type Hiding, validateWithSchema } from '../../queue/validation/validate-with-schema.js';
import { InvalidStepError, refuseInsideOfStep } from './job-steps.js';
import { toNonRetryable } from './non-retryable.js';

/** The options of `job.waitFor`. */
export interface WaitOptions<Value = never> {
  /**
   * The longest wait, from the first attempt that comes to it, in ms up to a year. A later attempt does not change it.
   * @default without a limit
   */
  timeoutMs?: number | undefined;
  /** The value that a wait without a signal gives. @default none: it throws a SignalTimeoutError */
  timeoutValue?: Value | undefined;
}

/** What has become of a wait. */
export type WaitEnd = { is: 'open' | 'over' } | { is: 'answered'; data: unknown };

/** Notes the waits of one attempt. */
type NoteWait = (name: string, kind: JobWait['kind'], timeoutMs: number | undefined) => Promise<WaitEnd>;

/** The waits of one attempt: each ends once, and later attempts get its end. A wait that is open ends the attempt. */
export class JobWaits {
  private open: JobWaitsError | undefined;
  private definition: Pick<JobDefinition, 'name' | 'signals'> | undefined;
  private readonly begun = new Set<string>();

  constructor(
    private readonly id: string,
    private readonly note: NoteWait,
    private readonly hiding: Hiding | undefined,
  ) {}

  /** Set once a wait is open: the attempt has then ended for the job, whatever its handler does. */
  get parked(): JobWaitsError | undefined {
    return this.open;
  }

  /** Sets the definition, whose schemas parse the data. */
  define(definition: Pick<JobDefinition, 'name' | 'signals'>): void {
    this.definition = definition;
  }

  async forSignal(name: string, options: WaitOptions<unknown> = {}): Promise<unknown> {
    this.check(name, 'signal');
    checkWaitOptions(name, options);
    const { signals } = this.definition ?? {};
    const schema = signals && schemaForWait({ name: this.definition!.name, signals }, name);
    const end = await this.end(name, 'signal', options.timeoutMs);
    if (end.is !== 'answered') {
      if ('timeoutValue' in options) {
        return options.timeoutValue;
      }
      throw new SignalTimeoutError(this.id, name);
    }
    const { data } = end;
    try {
      return schema ? await validateWithSchema(`signal ${show(name)}`, schema, data, this.hiding) : data;
    } catch (error) {
      throw toNonRetryable(error as Error);
    }
  }

  async sleep(delayMs: number, name = this.nextSleep()): Promise<void> {
    this.check(name, 'sleep');
    checkDuration(name, 'a sleep', delayMs);
    await this.end(name, 'sleep', delayMs);
  }

  /** Returns the name of a sleep without one. A sleep whose call has failed leaves its name to the next. */
  private nextSleep(): string {
    for (let number = 1; ; number++) {
      const name = `sleep ${number}`;
      if (!this.begun.has(`sleep ${name}`)) return name;
    }
  }

  /** Returns the end of a wait. @throws JobWaitsError if it has none yet */
  private async end(name: string, kind: JobWait['kind'], timeoutMs: number | undefined) {
    this.begun.add(`${kind} ${name}`);
    try {
      const end = await this.note(name, kind, timeoutMs === undefined ? undefined : Math.ceil(timeoutMs));
      if (end.is !== 'open') {
        return end;
      }
      throw (this.open ??= new JobWaitsError(this.id, name));
    } catch (error) {
      this.begun.delete(`${kind} ${name}`); // the handler may come to it again
      throw error;
    }
  }

  /** @throws InvalidStepError; the JobWaitsError of an attempt that has ended */
  private check(name: string, kind: JobWait['kind']): void {
    if (this.parked) {
      throw this.parked;
    }
    if (!isId(name)) {
      throw new InvalidStepError(String(name), 'a name of 1 to 128 characters of text', show(name));
    }
    refuseInsideOfStep(name);
    if (this.begun.has(`${kind} ${name}`)) {
      const hint = 'A signal of a name comes once: give each wait a name of its own.';
      throw new InvalidStepError(name, 'a name that comes once in an attempt', 'it twice', hint);
    }
  }
}

function checkWaitOptions(name: string, options: unknown): asserts options is WaitOptions<unknown> {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidStepError(name, 'an object of options', show(options));
  }
  const unknown = Object.keys(options).find((key) => key !== 'timeoutMs' && key !== 'timeoutValue');
  if (unknown !== undefined) {
    throw new InvalidStepError(name, 'the options timeoutMs and timeoutValue', show(unknown));
  }
  const { timeoutMs } = options as WaitOptions;
  if (timeoutMs !== undefined) {
    checkDuration(name, 'timeoutMs', timeoutMs);
  }
}

function checkDuration(name: string, subject: string, ms: unknown): void {
  if (typeof ms !== 'number' || !(ms >= 0 && ms <= YEAR_MS)) {
    throw new InvalidStepError(name, `${subject} of 0 ms to a year`, show(ms));
  }
}

/** Returns the schema of a signal. @throws InvalidStepError for an unknown signal: its attempt is the last */
function schemaForWait(definition: Pick<JobDefinition, 'name' | 'signals'>, signal: string) {
  try {
    return schemaOf(definition, signal);
  } catch (error) {
    if (error instanceof InvalidOptionError) {
      throw new InvalidStepError(signal, error.expected, error.found, error.hint);
    }
    throw error;
  }
}
