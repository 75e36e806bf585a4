import { InvalidOptionError } from '../errors/errors.js';
import { show } from '../errors/show.js';
import type { QueueAccess } from '../store/queue-store.js';

/** @throws InvalidOptionError for a queue that a batch cannot reach, because its keys are elsewhere */
export function refuseUnreachable(subject: string, home: QueueAccess, target: QueueAccess): void {
  const { prefix, hashTag } = target.options;
  if (target.store !== home.store || prefix !== home.options.prefix || hashTag !== home.options.hashTag) {
    const place = `a queue on the same Redis as ${show(home.name)}, with the same prefix and hashTag`;
    throw new InvalidOptionError(subject, place, show(target.name));
  }
}
