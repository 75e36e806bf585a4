import { cloneElement, type ComponentChildren, type VNode } from 'preact';

/** Shows a field with its label, a hint, and what is wrong with it. */
export function Field(props: {
  label: string;
  name: string;
  hint?: string;
  fault?: string | undefined;
  children: VNode<object>;
}) {
  const { label, name, hint, fault, children } = props;
  const about = `about-${name}`;
  return (
    <div class="form-field">
      <label for={`field-${name}`}>{label}</label>
      {cloneElement(children, {
        id: `field-${name}`,
        'aria-describedby': about,
        'aria-invalid': fault === undefined ? undefined : 'true',
      })}
      <p
        id={about}
        class={fault === undefined ? 'quiet small' : 'field-problem'}
        role={fault === undefined ? undefined : 'alert'}
      >
        {fault ?? hint}
      </p>
    </div>
  );
}

/** Shows a fault that no field has. */
export function Fault({ of }: { of: ComponentChildren }) {
  return (
    <p class="field-problem" role="alert">
      {of}
    </p>
  );
}
