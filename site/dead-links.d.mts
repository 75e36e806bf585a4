export function deadLinks(folder: string, repository: string): string[];
