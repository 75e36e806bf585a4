// A plugin of Vite: the library's sources in a browser, on the store in memory.
import { fileURLToPath } from 'node:url';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

export const libraryInTheBrowser = {
  name: 'library-in-the-browser',
  enforce: 'pre',
  resolveId(id, importer = '', { ssr }) {
    // The server renders no playground, so it need not read the library.
    if (ssr) return id.endsWith('/Playground.vue') ? path('nothing.mjs') : undefined;
    const [, room, file] = /^#([a-z]+)\/(.*)\.js$/.exec(id) ?? [];
    if (room) return path(`../../../src/${room}/${file}.ts`);
    if (!importer.startsWith(path('../../../src/'))) return;
    if (id === 'node:inspector') return path('nothing.mjs'); // imported on demand, for a profile
    if (id.startsWith('node:')) return path('node.mjs');
    if (id === 'ioredis' || id.endsWith('/redis-store.js')) return path('redis-store.mjs');
    // Threads are no part of a browser: their pool and its file are loaded on demand only.
    if (id === 'piscina' || id.endsWith('.cjs')) return path('nothing.mjs');
  },
};
