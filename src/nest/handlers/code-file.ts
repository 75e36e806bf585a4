import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InvalidOptionError } from '../../queue/errors/errors.js';
import { show } from '../../queue/errors/show.js';

/**
 * Returns the path of a file of code that an option names, as a file URL or an absolute path. A compiled name
 * (`./render.js`) becomes the source's if the source runs uncompiled.
 *
 * @throws InvalidOptionError for a missing file
 */
export function codeFile(subject: string, file: string | URL): string {
  const path = pathOf(file);
  if (path === undefined) {
    throw new InvalidOptionError(
      subject,
      'a file URL or an absolute path',
      show(file instanceof URL ? file.href : file),
      "Write new URL('../file.js', import.meta.url), in CommonJS require.resolve('./file').",
    );
  }
  const found = [path, path.replace(/\.([cm]?)js$/, '.$1ts')].find((each) => existsSync(each));
  if (!found) {
    throw new InvalidOptionError(subject, 'a file that exists', path);
  }
  return found;
}

function pathOf(file: string | URL): string | undefined {
  try {
    const path = file instanceof URL || file.startsWith('file:') ? fileURLToPath(file) : file;
    return isAbsolute(path) ? path : undefined;
  } catch {
    return undefined; // a URL of another kind
  }
}
