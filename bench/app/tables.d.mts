export interface AppReport {
  rounds: number;
  medians: Record<string, Record<string, number>>;
}
export function fillApp(text: string, report: AppReport): string;
export function fillAppPage(page: string, report: AppReport): Promise<void>;
export function appTable(report: AppReport): string;
