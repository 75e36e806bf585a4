export declare function specsWithoutServer(root: string, folders: string[]): string[];
export function specsThatImport(root: string, folders: string[], imported: string): string[];
