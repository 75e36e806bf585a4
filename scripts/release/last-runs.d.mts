export function lastPassed(shown: string, dates: Record<string, string>): string;
export function recordRuns(hasPassed: (name: string) => boolean): void;
export function readDates(): Record<string, string>;
