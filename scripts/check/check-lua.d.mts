export function checkLua(
  texts: Iterable<readonly [name: string, text: string]>,
  compile: (text: string) => unknown,
  lua: string,
): string[];
