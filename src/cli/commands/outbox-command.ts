import { Argument, Option, type Command } from 'commander';
import { outboxSql } from '../../outbox/outbox-sql.js';
import { DIALECTS, type OutboxDialect } from '../../outbox/outbox-database.js';
import type { OutputStream } from '../host-process.js';

/** Prints the tables of the outbox. It calls neither Redis nor a database. */
export function addOutbox(program: Command, stdout: OutputStream): void {
  program
    .command('outbox')
    .addArgument(new Argument('<what>', 'what to print').choices(['sql']))
    .description('prints the tables for jobs of transactions, for a migration; see docs/outbox.md')
    .addOption(new Option('--dialect <name>', 'the database').choices(DIALECTS).makeOptionMandatory())
    .action((_what: string, { dialect }: { dialect: OutboxDialect }) => {
      stdout.write(outboxSql(dialect).map((statement) => `${statement};\n`).join('\n')); // prettier-ignore
    });
}
