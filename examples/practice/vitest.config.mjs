import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../../src/', import.meta.url));

/** In an app of yours the alias is not needed: the package is installed. */
export default {
  resolve: {
    alias: [
      { find: /^nest-job-queue$/, replacement: `${src}index.ts` },
      { find: /^nest-job-queue\/testing\/(.*)$/, replacement: `${src}testing-$1.ts` },
      { find: /^nest-job-queue\/(.*)$/, replacement: `${src}$1.ts` },
    ],
  },
  test: { include: ['test/*.test.ts'], env: { BILLING_KEY: randomBytes(32).toString('base64') } },
};
