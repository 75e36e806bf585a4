import { userInfo } from 'node:os';

/** Returns the name of the user, or undefined if the machine does not know it. A container may have a foreign user id. */
export function userOfMachine(): string | undefined {
  try {
    return userInfo().username || undefined;
  } catch {
    return undefined;
  }
}
