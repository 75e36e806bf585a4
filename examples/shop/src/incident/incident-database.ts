import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { createClient, type Client } from '@libsql/client';
import { outboxSql } from 'nest-job-queue/outbox';

/** The database of the shop, in a file that is deleted at the end. */
@Injectable()
export class IncidentDatabase implements OnModuleDestroy {
  client!: Client;
  private folder!: string;

  /** Makes the tables of the outbox. */
  async open(): Promise<Client> {
    this.folder = await mkdtemp(join(tmpdir(), 'incident-'));
    this.client = createClient({ url: `file:${join(this.folder, 'shop.db')}` });
    for (const statement of outboxSql('sqlite')) await this.client.execute(statement);
    return this.client;
  }

  async onModuleDestroy(): Promise<void> {
    this.client.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
