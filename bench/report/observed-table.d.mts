/** What `--observed --json` writes, as far as the table needs it. */
export interface ObservedReport {
  /** How each way of watching does it. */
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
