export function contents(): string;
