import type { SourceFile } from 'typescript';

export function strangeTags(file: SourceFile): string[];
export function undocumented(report: string): string[];
