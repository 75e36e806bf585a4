export function checkTime(src: string): string[];
