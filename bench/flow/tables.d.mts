export interface FlowReport {
  machine: Record<string, string | number>;
  redis: string;
  versions: Record<string, string>;
  quick: boolean;
  parts: {
    id: string;
    figures: { id: string; text: string; unit: string; value: number; goal?: string; met?: boolean }[];
    rows?: unknown[];
  }[];
}

export function fillFlow(text: string, report: FlowReport): string;
