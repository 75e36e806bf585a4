import { systemClock } from '../queue/runtime/clock.js';
import { within } from '../queue/runtime/waits.js';
import type { OutboxWriter } from '../queue/store/outbox-writer.js';
import type { FleetFigure } from './instruments.js';

/** The outbox of an app, as far as metrics read it. */
export type MeasuredOutbox = Pick<OutboxWriter, 'signs' | 'relayed'>;

/** The longest wait of a scrape for the database, in ms. The figures of the queues wait as long. */
const MOST_MS = 1_000;

/** Returns the figures of the outbox. Without those of the table, if its database gives no answer. Never rejects. */
export async function outboxFigures({ signs, relayed }: MeasuredOutbox): Promise<FleetFigure[]> {
  const found = signs && (await within(systemClock, MOST_MS, signs(), () => undefined).catch(() => undefined));
  return [
    ...(found
      ? [
          rows('waiting', found.waiting - found.setAside),
          rows('set_aside', found.setAside),
          rows('failed', found.failed),
          { key: 'outboxAge' as const, labels: {}, value: found.oldestAgeMs / 1_000 },
        ]
      : []),
    ...[...(relayed ?? [])].map(([queue, value]) => ({ key: 'outboxRelayed' as const, labels: { queue }, value })),
  ];
}

function rows(state: string, value: number): FleetFigure {
  return { key: 'outboxRows', labels: { state }, value };
}
