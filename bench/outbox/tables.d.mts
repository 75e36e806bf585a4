interface Figure {
  id: string;
  unit: string;
  better: 'more' | 'less';
  text: string;
  values: Record<string, number>;
  ratio: Record<string, number>;
  runs: Record<string, number[]>;
}

export interface OutboxReport {
  machine: Record<string, string | number>;
  redis: string;
  postgres: string;
  versions: Record<string, string>;
  quick: boolean;
  rounds: number;
  settings: Record<string, Record<string, string>>;
  figures: Figure[];
}

interface Run {
  machine: OutboxReport['machine'];
  redis: string;
  postgres: string;
  contestants: ReadonlyMap<string, { version: string; settings: Record<string, string> }>;
  bench: { quick: boolean; rounds: number };
}

type Measure = { figures: Record<string, Pick<Figure, 'unit' | 'better' | 'text'>> };

export function reportOf(
  run: Run,
  measures: readonly Measure[],
  values: Record<string, Record<string, number[]>>,
): OutboxReport;

export function fillOutbox(text: string, report: OutboxReport): string;

export function outboxTable(report: Pick<OutboxReport, 'figures'>): string;
