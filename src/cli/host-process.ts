/** The process that a command runs in: its streams and its environment. */
export type HostProcess = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr' | 'env'>;
