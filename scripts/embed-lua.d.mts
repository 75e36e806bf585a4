export function readLuaScripts(dir: string): Record<string, string>;
export function renderModule(scripts: Record<string, string>): string;
export function stripComments(file: string, text: string): string;
