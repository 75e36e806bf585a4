import { z } from 'zod';

type Stripped<Fields> = {
  [Key in keyof Fields]: Fields[Key] extends z.ZodDefault<infer Inner>
    ? z.ZodOptional<Inner>
    : Fields[Key] extends z.ZodType
      ? z.ZodOptional<Fields[Key]>
      : never;
};

/** The same fields, none of them filled in: for a place whose options go over others, which must then show through. */
export function withoutDefaults<Fields extends Record<string, z.ZodType>>(fields: Fields): Stripped<Fields> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [
      key,
      (field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field).optional(),
    ]),
  ) as Stripped<Fields>;
}

/** Without the keys whose value is undefined, so that spreading it over defaults keeps them. */
export function given<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options;
}
