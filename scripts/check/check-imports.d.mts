export function checkImports(src: string): string[];
