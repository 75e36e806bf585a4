/** The run of the core specs on a server, in docs/internals/figures/servers.json. */
export interface TestedServer {
  product: string;
  version: string;
  date: string;
  passed: number;
  failed: number;
}

export function fillServers(text: string, tested: readonly TestedServer[]): string;
