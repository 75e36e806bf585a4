import type { Edit } from './mutant.js';

export function typescriptEdits(file: string, text: string, kinds?: readonly string[]): Promise<Edit[]>;
