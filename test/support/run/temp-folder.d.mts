/** Makes the folder of this run in a shared one, and removes those of runs that were killed. */
export function openTempFolder(shared?: string): { folder: string; close(): void };
