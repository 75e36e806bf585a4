import { setTimeout as sleep } from 'node:timers/promises';
import type { OutboxWriter } from '../queue/store/verbs/outbox-writer.js';
import type { FleetFigure } from './instruments.js';

/** The outbox of an app, as far as metrics read it. */
export type MeasuredOutbox = Pick<OutboxWriter, 'signs' | 'relayed'>;

/** The time for which a scrape waits for the database, in ms. Other figures must not be late by it. */
const MOST_MS = 1_000;

/** Returns the figures of the outbox. Without those of the table, if its database gives no answer. Never rejects. */
export async function outboxFigures({ signs, relayed }: MeasuredOutbox): Promise<FleetFigure[]> {
  const late = new AbortController();
  const lateness = sleep(MOST_MS, undefined, { ref: false, signal: late.signal }).catch(() => undefined);
  const found = await Promise.race([signs?.().catch(() => undefined), lateness]).finally(() => late.abort());
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
