import type { ComponentChildren } from 'preact';

const SHOWN_MS = 1_200;

interface CopyProps {
  text: string;
  title: string;
  children: ComponentChildren;
}

/** Shows a button that copies a text. */
export function CopyButton({ text, title, children }: CopyProps) {
  const copy = async (event: MouseEvent) => {
    event.stopPropagation();
    event.preventDefault();
    const button = event.currentTarget as HTMLButtonElement;
    await copyText(text, button);
    button.dataset.copied = 'yes';
    setTimeout(() => delete button.dataset.copied, SHOWN_MS);
  };
  return (
    <button type="button" class="copy" title={title} onClick={(event) => void copy(event)}>
      {children}
    </button>
  );
}

/** Copies a text. Over plain http a browser has no clipboard for pages, so a selection is copied. */
async function copyText(text: string, button: HTMLElement): Promise<void> {
  if (window.isSecureContext) {
    return navigator.clipboard.writeText(text);
  }
  const field = document.createElement('textarea');
  field.value = text;
  field.style.position = 'fixed';
  button.after(field); // within an open dialog nothing else can be selected
  field.select();
  document.execCommand('copy');
  field.remove();
  button.focus();
}
