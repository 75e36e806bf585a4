export function unpackPackages(
  packages: readonly string[],
  folder: string,
  isUsable: () => boolean,
  suite?: string,
): Promise<void>;
export function onPath(name: string): string | undefined;
export function isExecutable(path: string): boolean;
