/** Commands that the server in memory does not have, and why the tests that send them need a Redis. */
const LEFT_OUT = {
  OBJECT: 'it tells how Redis stores a value',
  PSUBSCRIBE: 'no part of the library listens by a pattern',
};

/** Returns whether the server of this run has a command. Guards the tests that need it. */
export function hasCommand(name: keyof typeof LEFT_OUT): boolean {
  return process.env.TEST_REDIS !== 'memory' || !(name in LEFT_OUT);
}
