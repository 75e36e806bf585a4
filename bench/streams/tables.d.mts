export interface StreamsReport {
  machine: { cpu: string; cores: number; node: string };
  redis: string;
  rounds: number;
  jobs: number;
  values: number;
  medians: Record<string, Record<string, number>>;
}
export function fillStreams(text: string, report: StreamsReport): string;
export function streamsTable(report: StreamsReport): string;
