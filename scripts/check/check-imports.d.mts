export function checkImports(src: string): string[];
export const LAYERS: Record<string, string[]>;
export const OTHERS: string[];
export function checkPrograms(root: string): string[];
export function checkUnused(root: string): string[];
