/** The path of thread-entry.cjs, which is what a thread begins with; undefined inside of a bundle. */
export const file: string | undefined;
