// The used part of the interface that zod, valibot, arktype and others share (https://standardschema.dev).

/** A schema of any library that follows Standard Schema. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The interface of Standard Schema. */
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaOutcome<Output> | Promise<SchemaOutcome<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The result of a schema: the parsed value, or the issues. */
export type SchemaOutcome<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** An error that a schema found. */
export interface SchemaIssue {
  /** The issue in words. */
  readonly message: string;
  /** The path of the issue; absent for the value itself. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The input of a schema. */
export type InputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['input'];

/** The output of a schema. */
export type OutputOf<Schema extends StandardSchema> = NonNullable<Schema['~standard']['types']>['output'];

/** The schema of values that were checked before, such as in the thread that sent them. It accepts anything. */
export const CHECKED: StandardSchema = {
  '~standard': { version: 1, vendor: 'nest-job-queue', validate: (value) => ({ value }) },
};
