export function readLuaScripts(
  dir: string,
  onStaleNeeds?: (file: string, right: string) => void,
  made?: Map<string, object>,
): Record<string, string>;
export function readLuaTexts(
  dir: string,
  onStaleNeeds?: (file: string, right: string) => void,
  made?: Map<string, object>,
): Record<'scripts' | 'clusterScripts', Record<string, string>>;
export function renderModule(
  scripts: Readonly<Record<string, string>>,
  transitions: Readonly<Record<string, string>>,
  clusterScripts?: Readonly<Record<string, string>>,
): string;
export function renderDigests(
  scripts: Readonly<Record<string, string>>,
  clusterScripts?: Readonly<Record<string, string>>,
): string;
export function readTransitions(dir: string): Record<string, string>;
export function stripComments(file: string, text: string): string;
export function commandsOf(texts: readonly string[]): string[];
export function withoutDigests(module: string): string;
