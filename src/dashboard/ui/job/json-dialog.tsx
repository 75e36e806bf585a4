import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { unreachable } from '../state/live.js';

interface JsonDialogProps {
  titleId: string;
  title: ComponentChildren;
  /** What to know before it is sent. */
  note?: string;
  label: string;
  rows: number;
  /** The text at first. */
  start: string;
  /** True if an empty text is no value. */
  mayBeEmpty?: boolean;
  /** The words of the button. */
  button: string;
  /** Sends the value. What it throws is shown, and the dialog stays. */
  send(value: unknown): Promise<void>;
  close(): void;
}

/** Asks for a value as JSON, and sends it. */
export function JsonDialog({
  titleId,
  title,
  note,
  label,
  rows,
  start,
  mayBeEmpty,
  button,
  send,
  close,
}: JsonDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState(start);
  const [problem, setProblem] = useState('');
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    let value: unknown;
    try {
      value = mayBeEmpty && text.trim() === '' ? undefined : JSON.parse(text);
    } catch (error) {
      setProblem(`This is not JSON: ${(error as Error).message}`);
      return;
    }
    try {
      await send(value);
      close();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <dialog
      ref={dialog}
      class={`dialog ${rows > 10 ? 'dialog-wide' : ''}`}
      aria-labelledby={titleId}
      onClose={close}
    >
      <form onSubmit={(event) => void submit(event)}>
        <h2 id={titleId}>{title}</h2>
        {note !== undefined && <p>{note}</p>}
        <label class="field">
          {label}
          <textarea
            rows={rows}
            spellcheck={false}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <p class="field-problem" role="alert">
          {problem}
        </p>
        <div class="dialog-buttons">
          <button type="button" onClick={close}>
            Keep as it is
          </button>
          <button type="submit" class="primary" disabled={unreachable.value}>
            {button}
          </button>
        </div>
      </form>
    </dialog>
  );
}
