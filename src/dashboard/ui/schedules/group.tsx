import type { ComponentChildren } from 'preact';
import type { EditedScheduleView } from '../../views/schedules-view.js';
import type { Faults } from './definition-of.js';

export interface PartProps {
  edited: EditedScheduleView | null;
  faults: Faults;
}

/** Shows some fields under a title. */
export function Group({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <fieldset class="form-group">
      <legend>{title}</legend>
      {children}
    </fieldset>
  );
}
