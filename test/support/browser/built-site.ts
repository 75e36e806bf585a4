// The built site on a port of its own, as any host of static files serves it.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { violations } from './axe.js';

const SITE = fileURLToPath(new URL('../../../.cache/site/', import.meta.url));
const TYPES: Record<string, string> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
};

/** Serves what `npm run docs:build` made. */
export async function serveSite(): Promise<{ url: string; server: Server }> {
  if (!existsSync(join(SITE, 'index.html'))) {
    throw new Error('There is no built site. Run `npm run docs:build` first.');
  }
  const server = createServer((request, response) => {
    const path = join(SITE, decodeURIComponent(new URL(request.url!, 'http://site').pathname));
    const file = [path, `${path}.html`, join(path, 'index.html')].find(
      (each) => existsSync(each) && statSync(each).isFile(),
    );
    if (!file) {
      response.writeHead(404).end();
      return;
    }
    const type = TYPES[extname(file)] ?? 'application/octet-stream';
    response.writeHead(200, { 'content-type': type }).end(readFileSync(file));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

/** Returns axe-core's findings without the one of VitePress: its search button shows a shortcut beside its name. */
export async function violationsOfSite(page: Page): Promise<string[]> {
  return (await violations(page)).filter(
    (each) => !/^label-content-name-mismatch: [^|]*DocSearch-Button[^|]*$/.test(each),
  );
}
