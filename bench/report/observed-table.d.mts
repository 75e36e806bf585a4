/** The part of the output of `--observed --json` that the table needs. */
export interface ObservedReport {
  /** The mechanism of each way of watching. */
  watched: Record<string, string>;
  figures: {
    id: string;
    text: string;
    unit: string;
    better: 'more' | 'less';
    bare: number;
    ratios: Record<string, number>;
  }[];
}

export function fillObserved(text: string, report: ObservedReport): string;
