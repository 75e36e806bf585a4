// A seeded fuzz of what reads records for windows. PROPERTY_SEED draws other jobs. test/long/fuzz runs it for a time.
import { describe, expect, it, jest } from '@jest/globals';
import { TextRedaction } from '#queue/codec/redact.js';
import { showRecordsOpenly } from './plants.js';
import fc from '../support/queue/properties.js';
import { readEverywhere, storedJob } from './record-fuzz.js';
import { casesOf } from '../support/run/samples.js';

/** Returns the error of the first job that a window fails to show, or shows too much of. */
function faultIn(jobs: number): string {
  return String(fc.check(fc.property(storedJob, readEverywhere), { numRuns: jobs }).errorInstance);
}

it('a stored job of any make is shown in every window, without what is hidden', () => {
  fc.assert(fc.property(storedJob, readEverywhere), { numRuns: casesOf(1_000, 100) });
});

describe('finds', () => {
  it('a window without redaction', () => {
    showRecordsOpenly();
    expect(faultIn(500)).toContain('hidden value out');
  });

  it('texts that are not redacted', () => {
    jest.spyOn(TextRedaction.prototype, 'text').mockImplementation((text) => text);
    expect(faultIn(500)).toContain('hidden value out');
  });

  it('a record that throws', () => {
    jest.spyOn(TextRedaction.prototype, 'error').mockImplementation(() => {
      throw new Error('planted');
    });
    expect(faultIn(casesOf(500, 100))).toBe('null');
  });
});
