import { z } from 'zod';

type Stripped<Fields> = {
  [Key in keyof Fields]: Fields[Key] extends z.ZodDefault<infer Inner>
    ? z.ZodOptional<Inner>
    : Fields[Key] extends z.ZodType
      ? z.ZodOptional<Fields[Key]>
      : never;
};

/** Returns the same fields without their defaults, for options that are laid over others. */
export function withoutDefaults<Fields extends Record<string, z.ZodType>>(fields: Fields): Stripped<Fields> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [
      key,
      (field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field).optional(),
    ]),
  ) as Stripped<Fields>;
}

/** Returns the options of these names that are set. */
export function picked<Options extends object, Name extends keyof Options>(
  options: Options,
  names: readonly Name[],
): Pick<Options, Name> {
  const entries = names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]);
  return Object.fromEntries(entries) as Pick<Options, Name>;
}
