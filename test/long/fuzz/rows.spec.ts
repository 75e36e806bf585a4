// The fuzz of rows of the outbox on each database, in turn. FUZZ_SECONDS says for how long, and PROPERTY_SEED which.
import { expect, it } from '@jest/globals';
import { fuzzRows } from '../../outbox/row-fuzz.js';
import { onOutboxDatabases, OUTBOX_DATABASES } from '../../support/databases/outbox-databases.js';
import { longFuzz } from '../../support/queue/properties.js';

const { seed, seconds } = longFuzz('rows');

onOutboxDatabases('the outbox', OUTBOX_DATABASES, (database, name) => {
  it(
    'sends the rows beside others',
    async () => {
      const { rounds, planted } = await fuzzRows(database(), { seed, seconds: seconds / OUTBOX_DATABASES.length });
      process.stdout.write(`rows on ${name} by the seed ${seed}: ${rounds} rounds, ${planted} wrong rows\n`);
      expect(planted).toBeGreaterThan(0);
    },
    (seconds + 120) * 1_000,
  );
});
