import type { Labels } from './instruments.js';
import type { Count, Durations, ProcessFigures } from './process-figures.js';
import { keptIn } from '../queue/runtime/kept.js';

/** The figures of one queue in this process. */
export class QueueFigures {
  readonly running: Count;
  private readonly names = new Map<string, NameFigures>();

  constructor(
    private readonly figures: ProcessFigures,
    private readonly queue: string,
  ) {
    this.running = figures.newCount('running', { queue });
  }

  /** @param name the label, which limits the number of names */
  of(name: string): NameFigures {
    return keptIn(this.names, name, () => new NameFigures(this.figures, { queue: this.queue, name }));
  }
}

/** The figures of attempts with one outcome. */
interface EndFigures {
  attempts: Count;
  /** Absent until a handler was called. */
  run?: Durations;
}

/** The figures of one job name in a queue. Each other line appears with its first measurement. */
class NameFigures {
  /** Begins with 0, because Prometheus sees no increase in a line that appears. */
  private readonly stuckCount: Count;
  private waits: Durations | undefined;
  private readonly ends = new Map<string, EndFigures>();

  constructor(
    private readonly figures: ProcessFigures,
    private readonly labels: Labels,
  ) {
    this.stuckCount = figures.newCount('stuck', labels);
  }

  waited(seconds: number): void {
    this.waits ??= this.figures.newDurations('wait', this.labels);
    this.waits.add(seconds);
  }

  gotStuck(): void {
    this.stuckCount.value++;
  }

  /** @param seconds how long the handler ran; undefined where none was called */
  ended(outcome: string, seconds: number | undefined): void {
    const end = keptIn<string, EndFigures>(this.ends, outcome, () => ({
      attempts: this.figures.newCount('attempts', { ...this.labels, outcome }),
    }));
    end.attempts.value++;
    if (seconds !== undefined) {
      end.run ??= this.figures.newDurations('run', end.attempts.labels);
      end.run.add(seconds);
    }
  }
}
