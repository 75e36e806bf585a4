// Outsize elements in drawn keys, beside a live worker. FUZZ_SECONDS says for how long, and PROPERTY_SEED which.
import { it } from '@jest/globals';
import { longFuzz } from '../../support/queue/properties.js';
import { attackOutsize, drawCells } from '../../security/outsize-attack.js';

const { seed, seconds } = longFuzz('keys');

it(
  'keeps Redis busy with no outsize element',
  async () => {
    const until = performance.now() + seconds * 1_000;
    const failures: string[] = [];
    const cells = drawCells(seed, 10_000);
    let tried = 0;
    while (performance.now() < until && cells[tried]) {
      await attackOutsize(cells[tried]!).catch((error: Error) => failures.push(error.message));
      tried += 1;
    }
    process.stdout.write(`keys by the seed ${seed}: ${tried} cells, ${failures.length} failed\n`);
    if (failures.length > 0) throw new Error(failures.join('\n'));
  },
  (seconds + 120) * 1_000,
);
