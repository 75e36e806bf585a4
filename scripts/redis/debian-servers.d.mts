export interface DebianServer {
  product: string;
  /** Its major version, or its version, such as `7.3`. */
  major: string;
}

export const SERVERS: readonly DebianServer[];
export function programOf(server: DebianServer): Promise<string>;
export function versionOf(program: string): string;
