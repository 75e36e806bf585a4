// Which specs run without a Redis, by what they import.
import { expect, it } from '@jest/globals';
import { specsWithoutServer } from '../support/without-server.mjs';
import { folderWith } from './folder.js';

it('leaves out the specs that reach a server, whether at once, through others or later', () => {
  const root = folderWith({
    'test/support/redis/redis.ts': '',
    'test/support/redis/clusters.ts': '',
    'test/support/queue.ts': "import { connect } from './redis/redis.js';",
    'test/support/circle.ts': "import './circle.js';\nexport * from './wait.js';",
    'test/support/wait.ts': '',
    'test/at-once.spec.ts': "import {\n  connect,\n} from './support/redis/redis.js';",
    'test/through-another.spec.ts': "import { queue } from './support/queue.js';",
    'test/later.spec.ts': "const { connect } = await import('./support/redis/redis.js');",
    'test/by-script.spec.ts': "import { freePort } from '../scripts/redis/redis-server.mjs';",
    'scripts/redis/redis-server.mjs': '',
    'test/free.spec.ts': "import type { Redis } from './support/redis/redis.js';\nimport './support/circle.js';",
    'tools/free.spec.ts': "import { it } from '@jest/globals';",
  });
  expect(specsWithoutServer(root, ['test', 'tools'])).toEqual(['test/free.spec.ts', 'tools/free.spec.ts']);
});
