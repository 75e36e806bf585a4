/** An error as stored with a job. */
export interface StoredError {
  /** The name of the error, such as `TypeError`. */
  name: string;
  /** Its message, at most 2,000 characters. */
  message: string;
  /** Its stack, at most 4,000 characters. */
  stack?: string;
  /** Its `cause`, if it has one. */
  cause?: StoredError;
  /** The errors of an AggregateError, at most ten. */
  errors?: StoredError[];
}
