// The SDK of the Model Context Protocol, which only this command needs.
import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { CliError, EXIT } from '../exit-codes.js';

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
 * @throws CliError that says what to install
 */
export async function loadSdk(load: (name: string) => Promise<unknown> = (name) => import(name)): Promise<Sdk> {
  try {
    const parts = await Promise.all(
      ['server/index.js', 'server/stdio.js', 'types.js'].map((part) => load(`${PACKAGE}/${part}`)),
    );
    return Object.assign({}, ...parts) as Sdk;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new CliError(`mcp needs the package ${PACKAGE}. Run: npm install ${PACKAGE}`, EXIT.usage);
  }
}
