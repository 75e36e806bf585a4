export interface SlotsReport {
  machine: Record<string, string | number>;
  redis: string;
  versions: Record<string, string>;
  quick: boolean;
  rounds: number;
  rows: { id: string; concurrency: number; handlerMs: number; rates: Record<string, number>; bareCpuUs: number }[];
}

export function fillSlots(text: string, report: SlotsReport): string;

export function slotsTable(report: Pick<SlotsReport, 'rows' | 'versions'>): string;
