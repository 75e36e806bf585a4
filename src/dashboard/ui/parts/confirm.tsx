import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { count } from './format.js';

interface Question {
  title: string;
  body: string;
  verb: string;
  /** The number that must be typed; undefined where a click is enough. */
  typed?: number;
  destroys: boolean;
  answer(yes: boolean): void;
}

const question = signal<Question | null>(null);

/** Asks before an action; resolves to whether the user agreed. */
export function ask(asked: Omit<Question, 'answer'>): Promise<boolean> {
  return new Promise((resolve) => {
    question.value = {
      ...asked,
      answer: (yes) => {
        question.value = null;
        resolve(yes);
      },
    };
  });
}

export function Confirm() {
  return question.value && <ConfirmDialog key={question.value.title} question={question.value} />;
}

function ConfirmDialog({ question: { title, body, verb, typed, destroys, answer } }: { question: Question }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  useEffect(() => dialog.current?.showModal(), []);
  const agreed = typed === undefined || text.replaceAll(/[^\d]/g, '') === String(typed);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="confirm-title" onClose={() => answer(false)}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (agreed) answer(true);
        }}
      >
        <h2 id="confirm-title">{title}</h2>
        <p>{body}</p>
        {typed !== undefined && (
          <label class="field">
            Type {count(typed)} to continue
            <input
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
              inputMode="numeric"
              autocomplete="off"
            />
          </label>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={() => answer(false)}>
            Keep as it is
          </button>
          <button type="submit" class={destroys ? 'danger' : 'primary'} disabled={!agreed}>
            {verb}
          </button>
        </div>
      </form>
    </dialog>
  );
}
