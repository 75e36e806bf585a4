export function unpackPackages(packages: readonly string[], folder: string, isUsable: () => boolean): Promise<void>;
export function onPath(name: string): string | undefined;
export function isExecutable(path: string): boolean;
