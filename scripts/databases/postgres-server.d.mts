export interface Postgres {
  url: string;
  /** The id of its first process, the parent of the others. */
  readonly pid: number;
  /** Stops the server, and starts it again with its data. */
  restart(): Promise<void>;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

export function startPostgres(): Promise<Postgres>;
