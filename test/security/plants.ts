import { jest } from '@jest/globals';
import { ShownContent } from '#queue/store/shown-content.js';

/** Plants a fault: records reach the windows without redaction. */
export function showRecordsOpenly(): void {
  const { record } = ShownContent.prototype;
  const open = new ShownContent([]);
  jest.spyOn(ShownContent.prototype, 'record').mockImplementation((job) => record.call(open, job));
}
