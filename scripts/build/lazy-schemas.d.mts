export function withLazySchemas(code: string): string;
