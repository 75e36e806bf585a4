export declare function specsWithoutServer(root: string, folders: string[]): string[];
