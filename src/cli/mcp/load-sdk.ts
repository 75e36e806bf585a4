// The SDK of the Model Context Protocol, which only this command needs.
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { loadPeer } from '../../queue/errors/load-peer.js';

/** The parts of the SDK that are used. */
export interface Sdk {
  Server: typeof Server;
  StdioServerTransport: typeof StdioServerTransport;
  ListToolsRequestSchema: typeof ListToolsRequestSchema;
  CallToolRequestSchema: typeof CallToolRequestSchema;
}

const PACKAGE = '@modelcontextprotocol/sdk';

/**
 * Loads the SDK.
 *
 * @throws InvalidOptionError that says what to install
 */
export function loadSdk(load: (name: string) => Promise<unknown> = (name) => import(name)): Promise<Sdk> {
  return loadPeer(PACKAGE, 'mcp', 'which speaks the protocol', async () => {
    const files = ['server/index.js', 'server/stdio.js', 'types.js'];
    const parts = await Promise.all(files.map((file) => load(`${PACKAGE}/${file}`)));
    return Object.assign({}, ...parts) as Sdk;
  });
}
