export function codeLines(file: string, text: string): number;
