import { defineConfig } from 'vite';

// Relative to the page, whose path only the app knows; the server puts it in the place of __BASE__.
export default defineConfig({
  base: './',
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    cssCodeSplit: true,
  },
});
