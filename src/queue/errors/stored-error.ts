/** An error as it is kept with a job. */
export interface StoredError {
  name: string;
  message: string;
  stack?: string;
  /** Its `cause`, where it had one. */
  cause?: StoredError;
  /** The errors of an AggregateError, at most ten. */
  errors?: StoredError[];
}
