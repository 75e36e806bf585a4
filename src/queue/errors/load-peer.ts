import { InvalidOptionError } from './errors.js';

/**
 * Loads an optional package. Throws an error that says what to install if it is missing.
 *
 * @param subject the name of the part that needs the package
 * @param use what the part needs the package for
 * @throws InvalidOptionError if the package is not installed
 */
export async function loadPeer<Module>(
  name: string,
  subject: string,
  use: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (!code?.endsWith('MODULE_NOT_FOUND') || !["'", '/'].some((end) => message.includes(`'${name}${end}`))) {
      throw error;
    }
    throw new InvalidOptionError(subject, `the package ${name}, ${use}`, 'none', `Run: npm install ${name}`);
  }
}
