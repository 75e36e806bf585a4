/** What an action fails with. */
export async function failure(action: () => unknown): Promise<Record<string, unknown>> {
  try {
    await action();
  } catch (error) {
    return error as Record<string, unknown>;
  }
  throw new Error('it did not fail');
}
