export const MOST_FILES: number;
export function checkFolders(root: string): string[];
