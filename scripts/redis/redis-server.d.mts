interface RedisBinaries {
  /** Path of redis-server (or valkey-server); with `--sentinel` it is a Sentinel. */
  server: string;
  /** Path of redis-cli, if there is one. */
  cli: string | undefined;
  /** Variables to add to the environment of both. */
  env: Record<string, string>;
  /** A description of the place where it was found. */
  source: string;
}

export interface StartOptions {
  /** Path of the server's program. Default: that of `findRedisServer`. */
  binary?: string;
  /** Default: a free one. */
  port?: number;
  /** More arguments of redis-server, after the defaults. */
  args?: string[];
  /** The text of a configuration file, before the arguments: for Sentinel, which keeps its state there. */
  config?: string;
  /** Paths of PEM files: the server then speaks TLS only, and asks its clients for no certificate. */
  tls?: { cert: string; key: string; ca: string };
  /** Working folder. Default: a temporary one, removed by stop(). */
  dir?: string;
  /** Do not print which Redis is used. Default: false. */
  quiet?: boolean;
}

export interface RunningRedis {
  url: string;
  host: string;
  port: number;
  /** Undefined for the server of REDIS_URL. */
  readonly pid: number | undefined;
  source: string;
  dir: string | undefined;
  /** Stops it and removes its temporary folder. May be called twice. */
  stop(): Promise<void>;
  /** Sends a signal (default SIGKILL) and, if it ends the server, waits for that. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Stops it where it runs, then starts it again on the same port. */
  restart(): Promise<void>;
}

export function findRedisServer(): Promise<RedisBinaries>;
export function startRedisServer(
  options?: StartOptions,
): Promise<RunningRedis & { readonly pid: number; dir: string }>;
export function ensureRedis(options?: StartOptions): Promise<RunningRedis>;
export function describeRedis(server: Pick<RunningRedis, 'url' | 'source'>): string;
export function freePort(): Promise<number>;
