export interface Report {
  machine: Record<string, string | number>;
  redis: string;
  versions: Record<string, string>;
  alternations: number;
  quick: boolean;
  /** A note for readers about figures from several runs. */
  note?: string;
  settings: Record<string, Record<string, string>>;
  figures: {
    id: string;
    unit: string;
    better: 'more' | 'less';
    text: string;
    self: number | null;
    peers: Record<string, number | null>;
    ratio: Record<string, number | null>;
  }[];
}

export function fillTables(text: string, report: Report): string;

export interface NestReport {
  machine: Record<string, string | number>;
  redis: string;
  figures: {
    id: string;
    unit: string;
    text: string;
    rows: {
      contestant: string;
      name: string;
      value: number;
      ratio: number;
      from: number;
      to: number;
      runs: number[];
    }[];
  }[];
}

export function fillNest(text: string, report: NestReport): string;

export interface Growth {
  id: string;
  title: string;
  series: { name: string; points: { level: number; us: number }[] }[];
}

export function fillGrowth(text: string, growths: readonly Growth[]): string;
