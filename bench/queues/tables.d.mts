interface Figures {
  startMs: number;
  redisPercent: number;
  nodePercent: number;
  connections: number;
  sentPerSecond: number;
  insidePerSecond: number;
  p50Ms: number;
  p95Ms: number;
}

export interface QueuesReport {
  machine: Record<string, string | number>;
  redis: string;
  versions: Record<string, string>;
  quick: boolean;
  rows: {
    id: string;
    queues: number;
    masters: number;
    contestant: string;
    failure?: string;
    figures: Figures | null;
  }[];
}

export function fillQueues(text: string, report: QueuesReport): string;

export function queuesTables(report: Pick<QueuesReport, 'rows' | 'versions'>): string;
