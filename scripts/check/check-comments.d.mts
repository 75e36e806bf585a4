export const MOST_WORDS: number;
export function sourcesOf(root: string): string[];
export function checkComments(root: string): string[];
export function longSentences(file: string, source: string): string[];
