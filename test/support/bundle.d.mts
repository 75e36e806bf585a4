/** Writes the bundle of a program to a file of the project, so that it finds the packages. Returns its path. */
export function bundle(input: string, file: string, external?: (name: string) => boolean): Promise<string>;
