export function startCounting(): Promise<void>;
export function resumeCounting(): Promise<void>;
export function stopCounting(): Promise<void>;
export function executedSources(): Promise<string[]>;
