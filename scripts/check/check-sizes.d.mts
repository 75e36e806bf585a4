export const MOST_LINES: number;
export function checkSizes(root: string): string[];
export function checkCorridors(root: string, allowed?: Record<string, string>): string[];
export function checkEntries(root: string): string[];
