export interface PagesReport {
  requests: Record<string, Record<string, { medianMs: number; mostMs: number }>>;
  viewers: Record<string, Record<string, { commandsPerS: number; innerPerS: number }>>;
}

export function fillPages(text: string, report: PagesReport): string;
