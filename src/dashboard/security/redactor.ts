import { Inject, Injectable } from '@nestjs/common';
import type { RedactedPart, ResolvedDashboardOptions } from '../dashboard-options.js';
import { DASHBOARD_OPTIONS } from '../tokens.js';

export const REDACTED = '[redacted]';
const DEEPEST = 50;

/** Hides what the option `redact` names. */
@Injectable()
export class Redactor {
  constructor(@Inject(DASHBOARD_OPTIONS) private readonly options: ResolvedDashboardOptions) {}

  /** True where something may be hidden, so that a shown payload must not be stored again. */
  hides(value: unknown, about: RedactedPart): boolean {
    return JSON.stringify(this.redact(value, about)) !== JSON.stringify(value);
  }

  redact(value: unknown, about: RedactedPart): unknown {
    const { redact } = this.options;
    if (typeof redact === 'function') {
      return redact(value, about);
    }
    return redact.length === 0 ? value : withoutFields(value, new Set(redact.map((name) => name.toLowerCase())), 0);
  }
}

function withoutFields(value: unknown, names: ReadonlySet<string>, depth: number): unknown {
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if (depth > DEEPEST) {
    return REDACTED;
  }
  if (Array.isArray(value)) {
    return value.map((each) => withoutFields(each, names, depth + 1));
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      names.has(key.toLowerCase()) ? REDACTED : withoutFields(each, names, depth + 1),
    ]),
  );
}
