import type { OutboxRow } from '../outbox-database.js';

/** A column, as far as the outbox depends on it. */
interface ColumnShape {
  type: string;
  isNullable: boolean;
  /** True if the database fills it, by a default or a counter. */
  isFilled: boolean;
}

/** A table: its columns by name, and the columns of its indexes. */
export interface TableShape {
  columns: Map<string, ColumnShape>;
  /** The columns of each index, with commas between. A primary key is one of them. */
  indexes: Set<string>;
}

/** The tables by name. A sequence is one without columns. */
export type TableShapes = Map<string, TableShape>;

/** Names of one type of PostgreSQL. */
const SAME_TYPES: Record<string, string> = { timestamptz: 'timestamp with time zone' };

/** Returns the tables that statements make. */
export function shapesOf(ddl: readonly string[]): TableShapes {
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
export function shapesFound(columns: readonly OutboxRow[], indexes: readonly OutboxRow[]): TableShapes {
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
