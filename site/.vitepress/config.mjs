// The site: the pages of docs, in six groups. Start it with `npm run docs`, build it with `npm run docs:build`.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import llms from 'vitepress-plugin-llms';
import { layOut, rewriteLinks, REPOSITORY } from './links.mjs';
import { GROUPS } from './groups.mjs';
import { libraryInTheBrowser } from './playground/library.mjs';
import { SEARCH } from './search.mjs';
import { writeContents } from './contents.mjs';

/** The pages are outside of this package, so Vite does not find Vue from there. Node does, from the built files. */
const vueOfTheServer = {
  name: 'vue-of-the-server',
  enforce: 'pre',
  resolveId: (id, importer, { ssr }) =>
    ssr && /^vue(\/server-renderer)?$/.test(id) ? { id, external: true } : undefined,
};

/** The groups at the head of each page. All six are too wide for a tablet; the sidebar has them. */
const NAVIGATION = ['Start', 'Jobs', 'Production', 'Reference'];

export default defineConfig({
  title: 'nest-job-queue',
  description:
    'Background jobs for NestJS on Redis: at-least-once delivery, claims fenced by a token, server time only.',
  srcDir: '../docs',
  rewrites: { 'site/:page': ':page' },
  srcExclude: ['README.md', 'internals/**'],
  outDir: '../.cache/site',
  cacheDir: '../.cache/vitepress',
  cleanUrls: true,
  lastUpdated: false,
  markdown: {
    config: rewriteLinks,
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  // The first page has no element for its main part.
  transformHtml: (html) => (html.includes('<main') ? html : html.replace('id="VPContent"', '$& role="main"')),
  transformPageData: layOut,
  buildEnd: ({ outDir }) => writeContents(outDir),
  themeConfig: {
    search: SEARCH,
    nav: GROUPS.filter(({ text }) => NAVIGATION.includes(text)).map(({ text, items }) => ({
      text,
      items: items.slice(0, 8),
    })),
    sidebar: GROUPS,
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    editLink: { pattern: `${REPOSITORY}/edit/main/docs/:path`, text: 'Edit this page' },
  },
  vite: {
    // Each page as Markdown, and all in one. The plugin would order llms.txt by the names of files.
    plugins: [
      vueOfTheServer,
      libraryInTheBrowser,
      llms({ ignoreFiles: ['README.md', 'internals/**'], generateLLMsTxt: false }),
    ],
    build: {
      // The playground has the whole library with its scripts; other pages do not load it.
      chunkSizeWarningLimit: 1_300,
      rollupOptions: {
        // A comment in zod, which changes nothing.
        onwarn: (warning, warn) => warning.code !== 'INVALID_ANNOTATION' && warn(warning),
      },
    },
    server: { fs: { allow: [fileURLToPath(new URL('../..', import.meta.url))] } },
  },
});
