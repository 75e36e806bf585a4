/** Returns the error of an action that must fail. */
export async function failure<Failure = Record<string, unknown>>(action: () => unknown): Promise<Failure> {
  try {
    await action();
  } catch (error) {
    return error as Failure;
  }
  throw new Error('it did not fail');
}
