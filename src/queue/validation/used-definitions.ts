import { isDeepStrictEqual } from 'node:util';
import { SafeLogger } from '../errors/safe-logger.js';
import { show } from '../errors/show.js';
import type { JobQueueLogger } from '../runtime/logger.js';
import { CHECKED } from './validate-with-schema.js';

/** The most remembered names of a queue. */
const MOST_NAMES = 1_000;

/** The parts of a JobDefinition that are compared. */
interface Definition {
  readonly name: string;
  readonly payload: unknown;
  readonly result: unknown;
  readonly chunk?: unknown;
  readonly signals?: Readonly<Record<string, unknown>> | undefined;
  readonly defaults: Readonly<Record<string, unknown>> | object;
}

/**
 * The definitions that a queue of this process uses. Warns once per name if two of them differ. Producer and handler then
 * check by different schemas, or use different defaults.
 */
export class UsedDefinitions {
  private readonly first = new Map<string, { definition: Definition; user: string }>();
  private readonly equal = new WeakSet<Definition>();
  private readonly said = new Set<string>();

  constructor(private readonly queue: { name: string; store: { logger: JobQueueLogger } }) {}

  /** Records a definition and who uses it. */
  use(definition: Definition | undefined, user: string): void {
    if (!definition || definition.payload === CHECKED) {
      return; // the process that checked the payload has the definition
    }
    const { name } = definition;
    const first = this.first.get(name);
    if (first?.definition === definition || this.equal.has(definition) || this.said.has(name)) {
      return;
    }
    if (!first) {
      if (this.first.size < MOST_NAMES) this.first.set(name, { definition, user });
      return;
    }
    const parts = differences(first.definition, definition);
    if (parts.length === 0) {
      this.equal.add(definition);
      return;
    }
    this.said.add(name);
    SafeLogger.of(this.queue.store.logger).warn(
      `Two definitions of the jobs ${show(name)} are in use in queue "${this.queue.name}", by ${first.user} and by ${user}. ` +
        `They differ in ${parts.join(', ')}. Define the jobs once, and import that definition in both places.`,
    );
  }
}

/** Returns the names of the parts that differ. Schemas are compared by identity. */
function differences(a: Definition, b: Definition): string[] {
  const [own, other] = [a.defaults, b.defaults] as Record<string, unknown>[];
  const schemas = (['payload', 'result', 'chunk'] as const).filter((part) => a[part] !== b[part]);
  const signals = Object.keys({ ...a.signals, ...b.signals }).filter(
    (key) => a.signals?.[key] !== b.signals?.[key],
  );
  const options = Object.keys({ ...own, ...other }).filter((key) => !isDeepStrictEqual(own![key], other![key]));
  return [
    ...schemas.map((part) => `the ${part} schema`),
    ...signals.map((name) => `the signal ${show(name)}`),
    ...options,
  ];
}
