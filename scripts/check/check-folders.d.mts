export const MOST_FILES: number;
export function checkFolders(root: string): string[];
export function checkEntries(root: string): string[];
