import { signal } from '@preact/signals';

interface Toast {
  id: number;
  text: string;
  bad: boolean;
  link?: ToastLink | undefined;
}

/** A link after the words, such as to the job of an action. */
interface ToastLink {
  text: string;
  href: string;
}

const toasts = signal<Toast[]>([]);
let last = 0;

/** Shows the outcome of an action at the foot of the page, also to screen readers. */
export function say(text: string, bad = false, link?: ToastLink): void {
  const id = ++last;
  toasts.value = [...toasts.value.slice(-3), { id, text, bad, link }];
  setTimeout(() => dismiss(id), bad || link ? 12_000 : 5_000);
}

/** Returns the result of an action. Shows its error, and then returns undefined. */
export async function tried<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    say((error as Error).message, true);
    return undefined;
  }
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((each) => each.id !== id);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, bad, link }) => (
        <div key={id} class={`toast ${bad ? 'toast-bad' : ''}`}>
          <span>
            {text} {link && <a href={link.href}>{link.text}</a>}
          </span>
          <button type="button" class="plain" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
