export function withLateLoads(code: string, version: string): string;
