import { Injectable, NotFoundException } from '@nestjs/common';
import { z } from 'zod';
import { QueueRegistry } from '../../nest/connection/queue-registry.js';
import { count as inFigures } from '../../inspect/words.js';
import type { OutboxRecord, OutboxRows } from '../../queue/store/outbox-writer.js';
import { isQueueName } from '../../queue/validation/names.js';
import type { DashboardRequest } from '../dashboard-options.js';
import { SharedReads } from '../live/snapshot-feed.js';
import { Permissions } from '../security/permissions.js';
import { Redactor } from '../security/redactor.js';
import type { OutboxRowsView } from '../views/views.js';
import { queueName, Changes, Reads, Routes, type Call, type ChangeCall, type Outcome } from './route.js';

/** The most rows of a page, and of one action. */
const SHOWN = 200;
/** The most rows that are named in the action log. */
const NAMED = 5;

const noInput = z.object({});
const seq = z.string().regex(/^-?\d{1,19}$/, 'expected the number of a row');
const actSchema = z.strictObject({
  action: z.enum(['retry', 'discard'], { error: 'expected retry or discard' }),
  queue: queueName,
  rows: z.array(seq).min(1).max(SHOWN, `expected at most ${SHOWN} rows`),
});

/** Serves the rows of the outbox: jobs of committed transactions that are not in their queues yet. */
@Injectable()
export class OutboxController extends Routes {
  constructor(
    private readonly queues: QueueRegistry,
    private readonly reads: SharedReads,
    private readonly permissions: Permissions,
    private readonly redactor: Redactor,
  ) {
    super();
  }

  @Reads('api/outbox', noInput)
  async list(_query: z.output<typeof noInput>, { request }: Call): Promise<OutboxRowsView> {
    const table = this.table();
    const all = await this.reads.get('outbox', () => table.list(SHOWN));
    const rows = await this.visible(request, all);
    await this.redactor.learn(...new Set(rows.map(({ queue }) => queue).filter(isQueueName)));
    return { rows: rows.map((row) => this.viewOf(row)), isCut: all.length === SHOWN };
  }

  @Changes('api/outbox/act', actSchema, {
    logs: ({ action, rows }) => ({
      action: action === 'retry' ? 'send-again' : 'discard-rows',
      subject: `${rows.length === 1 ? 'row' : 'rows'} ${rows.slice(0, NAMED).join(', ')}${rows.length > NAMED ? ` and ${inFigures(rows.length - NAMED)} more` : ''} of the outbox`,
    }),
  })
  async act({ action, rows }: z.output<typeof actSchema>, { queue }: ChangeCall): Promise<Outcome> {
    const done = await this.table()[action](queue.name, rows);
    return { done, spared: rows.length - done };
  }

  private table(): OutboxRows {
    const { rows } = this.queues.outbox ?? {};
    if (!rows) {
      throw new NotFoundException('This app has no outbox. Import JobOutboxModule beside JobQueueModule.');
    }
    return rows;
  }

  /** Returns the rows of jobs that the request may see. The text of a row may be no name of a queue. */
  private visible(request: DashboardRequest, rows: readonly OutboxRecord[]): Promise<OutboxRecord[]> {
    return this.permissions.visible(request, rows);
  }

  private viewOf({ lastError, ...row }: OutboxRecord): OutboxRowsView['rows'][number] {
    const isNamed = isQueueName(row.queue);
    const isHidden = isNamed && this.redactor.hidesAll(row.queue);
    return { ...row, error: isHidden ? null : (lastError ?? null), canBeSteered: isNamed };
  }
}
