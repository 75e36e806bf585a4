// A server in memory that tells what becomes of the jobs, for tests and the simulation.
import type { Durability } from '../../queue/model/job-options.js';
import type { ResolvedQueueOptions } from '../../queue/model/queue-options.js';
import type { QueueCalls } from '../../queue/scripts/all-calls.js';
import type { AskedOptions } from '../../queue/store/asked-options.js';
import type { EncodedJob } from '../../queue/store/enqueue-call.js';
import type { ClaimReply, ClaimRequest } from '../../queue/store/attempt-forms.js';
import type { ScriptCall } from '../../queue/transport/script-runner.js';
import { toBytes, toText } from '../lua/values.js';
import { QueueView } from './queue-view.js';
import { ScriptServer } from './script-server.js';
import { evaluate } from './texts.js';

/** Receives the changes of jobs, also of a queue that publishes no events. */
export interface QueueObserver {
  /** Called when a job was added. @param asked the options of its enqueue @param durability its own, if any */
  enqueued(queue: QueueView, id: string, asked: AskedOptions, durability?: Durability): void;
  /** Called when an attempt or a job ended, or a job was put back, as events say it. */
  changed(queue: QueueView, id: string, status: string): void;
}

/** A call with the jobs that it enqueues, as the process sent them. */
export type CallWithJobs = ScriptCall<unknown> & { readonly jobs?: readonly EncodedJob[] };

export class ObservedServer extends ScriptServer {
  private readonly views = new Map<string, QueueView>();
  /** The keys of the jobs that the step has made. */
  private readonly made: string[];
  /** The jobs of the call that runs. */
  private sent: readonly EncodedJob[] = [];

  /** @param clock the time in ms, which alone decides what is due or expired */
  constructor(
    clock: () => number,
    private readonly observer: QueueObserver,
    options: Omit<NonNullable<ConstructorParameters<typeof ScriptServer>[1]>, 'hashWritten'> = {},
  ) {
    const made: string[] = [];
    super(clock, { ...options, hashWritten: (key, fields) => void (isNewJob(fields) && made.push(key)) });
    this.made = made;
  }

  /** All queues that a store has opened here. */
  get queues(): QueueView[] {
    return [...this.views.values()];
  }

  /**
   * Notes a queue that a process has opened. Returns its calls, of which the server sees the enqueues and the claims.
   *
   * @param options those of the process, which those of the calls may differ from
   */
  watch(calls: QueueCalls, options: ResolvedQueueOptions): QueueCalls {
    const view = this.viewOf(calls, options);
    const { enqueue, claim } = calls;
    return Object.assign(calls, {
      options,
      enqueue: (...asked: Parameters<typeof enqueue>) => ({ ...enqueue(...asked), jobs: asked[0] }),
      claim: (request: ClaimRequest) => {
        view.lastClaim = () => claim({ ...request, ...NEXT, ...(request.announces && { announces: false }) });
        return claim(request);
      },
    });
  }

  /**
   * Returns what the next claim of the worker of a queue would get, or undefined before its first one. It changes nothing.
   *
   * @param scheduled whether it would also take jobs that are due, and say when the next one is
   */
  nextClaim({ lastClaim, keys }: QueueView, scheduled: boolean): ClaimReply | undefined {
    if (!lastClaim) return undefined;
    return this.trial(() => {
      if (!scheduled) this.keys.delete(toBytes(keys.scheduled));
      const call = lastClaim();
      return call.decode(evaluate(this, call, false));
    });
  }

  private viewOf({ keys }: QueueCalls, options: ResolvedQueueOptions): QueueView {
    const known = this.views.get(keys.jobPrefix);
    if (known) {
      known.options = options;
      return known;
    }
    const view = new QueueView(this, keys, options);
    this.views.set(keys.jobPrefix, view);
    this.subscribe(toBytes(keys.events), (message) => {
      const { id, status } = JSON.parse(toText(message)) as { id: string; status: string };
      this.observer.changed(view, id, status);
    });
    return view;
  }

  /** Runs a call of a process, whose jobs the observer gets as they were sent. */
  sending<Reply>({ jobs = [] }: CallWithJobs, run: () => Reply): Reply {
    this.sent = jobs;
    try {
      return run();
    } finally {
      this.sent = [];
    }
  }

  /** Tells of new jobs before their events. */
  protected override deliver(): void {
    for (const key of new Set(this.made.splice(0).map(toText))) this.tell(key);
    super.deliver();
  }

  private tell(key: string): void {
    const view = this.queues.find(({ keys }) => key.startsWith(keys.jobPrefix));
    const id = key.slice(view?.keys.jobPrefix.length);
    if (!view?.job(id)) return;
    const job = this.sent.find((each) => each.id === id);
    this.observer.enqueued(view, id, job?.options ?? {}, job?.durability);
  }
}

/** What the next claim asks for: one job, of any cost, by a token that the server does not know. */
const NEXT = { count: 1, slots: 1, token: '@next', units: undefined } as const;

/** Returns whether fields are written that only a new job gets. */
function isNewJob(fields: readonly string[]): boolean {
  return fields.includes('enqueued_at_ms') && fields.includes('payload');
}
