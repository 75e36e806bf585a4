// Checks that the tables of an outbox have what it needs.
import { show } from '../queue/errors/show.js';
import { dialectOf } from './dialects.js';
import type { OutboxRow, OutboxDatabase } from './outbox-database.js';

/** A column, as far as the outbox depends on it. */
interface ColumnShape {
  type: string;
  isNullable: boolean;
  /** True if the database fills it, by a default or a counter. */
  isFilled: boolean;
}

/** A table: its columns by name, and the columns of its indexes. */
interface TableShape {
  columns: Map<string, ColumnShape>;
  /** The columns of each index, with commas between. A primary key is one of them. */
  indexes: Set<string>;
}

/** The tables by name. A sequence is one without columns. */
type TableShapes = Map<string, TableShape>;

/** Names of one type of PostgreSQL. */
const SAME_TYPES: Record<string, string> = { timestamptz: 'timestamp with time zone' };

/** Returns the tables that statements make. */
function shapesOf(ddl: readonly string[]): TableShapes {
  const shapes: TableShapes = new Map();
  for (const statement of ddl) {
    const [, table] = /^CREATE TABLE (\w+)/.exec(statement) ?? [];
    const [, indexed, columns] = /^CREATE INDEX \w+ ON (\w+) \(([^)]+)\)/.exec(statement) ?? [];
    if (table !== undefined) {
      shapes.set(table, shapeOf(statement));
    }
    const [, sequence] = /^CREATE SEQUENCE (\w+)/.exec(statement) ?? [];
    if (sequence !== undefined) {
      shapes.set(sequence, { columns: new Map(), indexes: new Set() });
    }
    if (indexed !== undefined) {
      shapes.get(indexed)!.indexes.add(listOf(columns!));
    }
  }
  return shapes;
}

function shapeOf(statement: string): TableShape {
  const shape: TableShape = { columns: new Map(), indexes: new Set() };
  const body = statement.slice(statement.indexOf('(') + 1);
  for (const part of body.split(/\n|, (?=\w+ [A-Za-z])/)) {
    const [, indexed] = /^\s*(?:PRIMARY KEY|INDEX \w+) \(([^)]+)\)/.exec(part) ?? [];
    const [, name, type, rest = ''] = /^\s*([a-z]\w*) (\w+(?:\(\d+\))?)(.*)/.exec(part) ?? [];
    if (indexed !== undefined) {
      shape.indexes.add(listOf(indexed));
    } else if (name !== undefined) {
      const isKey = rest.includes('PRIMARY KEY');
      const isFilled = /DEFAULT|GENERATED|AUTO_?INCREMENT/.test(rest);
      shape.columns.set(name, {
        type: typeOf(type!),
        isNullable: !isKey && !rest.includes('NOT NULL'),
        isFilled,
      });
      if (isKey) {
        shape.indexes.add(name);
      }
    }
  }
  return shape;
}

/** Returns the tables that a database has, by the rows of its catalogue. */
function shapesFound(columns: readonly OutboxRow[], indexes: readonly OutboxRow[]): TableShapes {
  const shapes: TableShapes = new Map();
  for (const { tbl, col, type, nullable, filled } of columns) {
    const shape = shapes.get(String(tbl)) ?? { columns: new Map(), indexes: new Set() };
    shape.columns.set(String(col), {
      type: typeOf(String(type)),
      isNullable: Number(nullable) === 1,
      isFilled: Number(filled) === 1,
    });
    shapes.set(String(tbl), shape);
  }
  indexes.forEach(({ tbl, cols }) => shapes.get(String(tbl))?.indexes.add(String(cols)));
  return shapes;
}

function typeOf(written: string): string {
  const type = written.toLowerCase();
  return SAME_TYPES[type] ?? type.replace(/^(\w*int)\(\d+\)$/, '$1');
}

function listOf(columns: string): string {
  return columns.replaceAll(' ', '');
}

/** A setting of the database with which an app must not boot. */
interface UnsafeSetting {
  expected: string;
  found: string;
  remedy: string;
}

/** Returns a setting that makes statements of the app's client unsafe; undefined for none. */
export async function unsafeSetting(database: OutboxDatabase): Promise<UnsafeSetting | undefined> {
  const { unsafe } = dialectOf(database);
  if (!unsafe) {
    return undefined;
  }
  const [row] = await database.begin((transaction) => database.run(transaction, unsafe.query, []));
  const setting = String(row?.['setting']);
  const { pattern, expected, remedy } = unsafe;
  return pattern.test(setting) ? { expected, found: show(setting), remedy } : undefined;
}

/** Returns the tables that are missing. It needs no right to read them. */
export async function missingTables(database: OutboxDatabase): Promise<string[]> {
  const wanted = [...shapesOf(dialectOf(database).ddl).keys()];
  const found = await readShapes(database, wanted);
  return wanted.filter((table) => !found.has(table));
}

/** Compares the tables of a database with those that the outbox needs. Returns what is wrong, as sentences. */
export async function checkTables(database: OutboxDatabase): Promise<string[]> {
  const dialect = dialectOf(database);
  const wanted = shapesOf(dialect.ddl);
  const found = await readShapes(database, [...wanted.keys()]);
  const wrong = [...wanted].flatMap(([table, shape]) => wrongOf(table, shape, found.get(table)));
  return [
    ...wrong,
    ...(found.has('job_outbox_source') ? await checkSource(database) : []),
    ...(found.has('job_outbox_order') ? await checkOrder(database, dialect.slots!) : []),
  ];
}

function readShapes(database: OutboxDatabase, tables: readonly string[]): Promise<TableShapes> {
  const { catalogue } = dialectOf(database);
  const names = tables.map((table) => `'${table}'`).join(', ');
  return database.begin(async (transaction) => {
    const read = (sql: string) => database.run(transaction, sql.replaceAll('{tables}', names), []);
    return shapesFound(await read(catalogue.columns), await read(catalogue.indexes));
  });
}

function wrongOf(table: string, wanted: TableShape, found: TableShape | undefined): string[] {
  if (!found) {
    return [`The ${wanted.columns.size > 0 ? 'table' : 'sequence'} ${table} is missing.`];
  }
  if (wanted.columns.size === 0) {
    return [];
  }
  const columns = [...wanted.columns].flatMap(([column, { type, isNullable, isFilled }]) => {
    const has = found.columns.get(column);
    const name = `The column ${table}.${column}`;
    if (!has) {
      return [`${name} is missing.`];
    }
    return [
      ...(has.type === type ? [] : [`${name} has the type ${has.type}, and needs ${type}.`]),
      ...(isNullable && !has.isNullable ? [`${name} must take NULL.`] : []),
      ...(isFilled && !has.isFilled ? [`${name} has no default.`] : []),
    ];
  });
  // A column of the user's own needs a value of its own.
  const others = [...found.columns].flatMap(([column, { isNullable, isFilled }]) =>
    wanted.columns.has(column) || isNullable || isFilled
      ? []
      : [`The column ${table}.${column} is not of the outbox, and has no default.`],
  );
  const indexes = [...wanted.indexes].flatMap((index) =>
    found.indexes.has(index) ? [] : [`The table ${table} has no index on (${index.replaceAll(',', ', ')}).`],
  );
  return [...columns, ...others, ...indexes];
}

/** Checks the name of the table, by which Redis keeps its marks. */
async function checkSource(database: OutboxDatabase): Promise<string[]> {
  const rows = await database.begin((transaction) =>
    database.run(transaction, 'SELECT source FROM job_outbox_source', []),
  );
  return rows.length === 1 ? [] : [`The table job_outbox_source has ${rows.length} rows, and needs exactly one.`];
}

/** Checks the rows that stand for groups. Without them `ordered` would wait for nobody. */
async function checkOrder(database: OutboxDatabase, slots: number): Promise<string[]> {
  const [row] = await database.begin((transaction) =>
    database.run(transaction, 'SELECT count(*) AS found FROM job_outbox_order WHERE slot BETWEEN 0 AND ?', [
      slots - 1,
    ]),
  );
  const found = Number(row!.found);
  return found === slots ? [] : [`The table job_outbox_order has ${found} of its ${slots} rows.`];
}
