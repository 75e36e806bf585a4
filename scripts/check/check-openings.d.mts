export function checkOpenings(root: string): string[];
export function wrongOpenings(file: string, source: string): string[];
