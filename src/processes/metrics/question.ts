import { systemClock } from '../../queue/runtime/clock.js';
import { within } from '../../queue/runtime/waits.js';
import type { MetricList } from './sum.js';

/** The reply of a worker process: its metrics, or why it has none. */
export type MetricsReply = { metrics: MetricList } | { error: string };

/** The questions for the metrics of one worker process that are open. */
export class MetricsQuestions {
  private readonly open = new Map<number, (reply: MetricsReply | undefined) => void>();
  private last = 0;

  /** @param ask sends the number of a question to the process */
  constructor(private readonly ask: (id: number) => void) {}

  /** Asks the process. Returns undefined without a reply in time. */
  async read(timeoutMs: number): Promise<MetricsReply | undefined> {
    const id = ++this.last;
    const reply = new Promise<MetricsReply | undefined>((resolve) => this.open.set(id, resolve));
    this.ask(id);
    const found = await within(systemClock, timeoutMs, reply, () => undefined);
    this.open.delete(id);
    return found;
  }

  /** Ends the open questions of a process that has ended. */
  abandon(): void {
    this.open.forEach((resolve) => resolve(undefined));
  }

  /** Takes the reply to a question. A late one is dropped. */
  take(id: number, reply: MetricsReply): void {
    this.open.get(id)?.(reply);
  }
}
