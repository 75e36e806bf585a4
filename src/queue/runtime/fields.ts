/**
 * Returns the record's own field of a name; undefined where it has none. A name from outside may be `constructor`, which
 * every object inherits.
 */
export function own<Value>(record: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Returns the fields that are not undefined, so that spreading them over others keeps the others. */
export function withoutUndefined<Of extends object>(fields: { [Key in keyof Of]: Of[Key] | undefined }): Of {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as object as Of;
}
