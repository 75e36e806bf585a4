/**
 * Returns the record's own field of a name; undefined where it has none. A name from outside may be `constructor`, which
 * every object inherits.
 */
export function own<Value>(record: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
