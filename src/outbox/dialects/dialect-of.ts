import type { OutboxDatabase } from '../outbox-database.js';
import type { Dialect } from './dialect.js';
import { mysql } from './mysql.js';
import { postgres } from './postgres.js';
import { sqlite } from './sqlite.js';

const ALL = { postgres, mysql, sqlite };

export function dialectOf({ dialect }: Pick<OutboxDatabase, 'dialect'>): Dialect {
  return ALL[dialect];
}
