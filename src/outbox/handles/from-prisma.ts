import { numbered, rowsOf, type OutboxDatabase, type OutboxDialect } from '../outbox-database.js';

/** A transaction of Prisma, as the outbox uses it. */
export interface PrismaTransaction {
  /** Runs a statement, and returns its rows. */
  $queryRawUnsafe<Result = unknown>(sql: string, ...values: never[]): PromiseLike<Result>;
}

/** A client of Prisma, as the outbox uses it. */
export interface PrismaInstance {
  /** Connects to the database. */
  $connect(): Promise<void>;
  /** Runs work in an interactive transaction. */
  $transaction<Result>(
    work: (transaction: PrismaTransaction) => Promise<Result>,
    options?: { maxWait?: number; timeout?: number },
  ): Promise<Result>;
}

/** The limits of a relay's transaction, in ms. Prisma's own are shorter than an answer of Redis may take. */
const LIMITS = { maxWait: 10_000, timeout: 60_000 };

/**
 * Makes the database of the outbox from a client of Prisma. The transaction of an enqueue is the `tx` of
 * `prisma.$transaction(async (tx) => …)`.
 *
 * @param options.dialect the dialect of the database. Default `postgres`
 * @example JobOutboxModule.forRootAsync({ inject: [PrismaService], useFactory: (prisma) => ({ database: fromPrisma(prisma) }) })
 */
export function fromPrisma(
  prisma: PrismaInstance,
  options: { dialect?: OutboxDialect | undefined } = {},
): OutboxDatabase {
  const { dialect = 'postgres' } = options;
  return {
    dialect,
    refusalOf(transaction) {
      const { $queryRawUnsafe: run, $connect: connect } = (transaction ?? {}) as Partial<
        PrismaTransaction & PrismaInstance
      >;
      if (typeof run !== 'function') {
        return 'no transaction of Prisma';
      }
      return connect === undefined ? undefined : 'the client itself';
    },
    run: async (transaction, sql, values) => {
      const text = dialect === 'postgres' ? numbered(sql) : sql;
      return rowsOf(await (transaction as PrismaTransaction).$queryRawUnsafe(text, ...(values as never[])));
    },
    begin: (work) => prisma.$transaction(work, LIMITS),
  };
}
