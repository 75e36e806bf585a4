export function compact(fileName: string, code: string, isModule: boolean): string;
