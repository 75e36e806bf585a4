import type { Report } from './tables.mjs';

export function fillCapacity(text: string, report: Report): string;
