import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { count } from './format.js';
import { unreachable } from '../state/live.js';

const LONGEST_NOTE = 500;

/** One of several ways to do an action. */
export interface Choice<Value> {
  value: Value;
  words: string;
  /** The words of the button while this way is chosen. */
  verb: string;
}

interface Question {
  title: string;
  body: string;
  /** What the action is about, one by one. */
  lines?: readonly string[];
  verb: string;
  /** The number or the name that must be typed; undefined where a click is enough. */
  typed?: number | string;
  choices?: readonly Choice<unknown>[];
  /** The label of a text that the user may add. */
  noteLabel?: string;
  destroys: boolean;
  answer(yes: boolean, choice?: unknown, note?: string): void;
}

type Asked = Omit<Question, 'answer' | 'choices'>;

const question = signal<Question | null>(null);

/** Asks before an action; resolves to whether the user agreed. */
export function ask(asked: Asked): Promise<boolean> {
  return new Promise((resolve) => show(asked, resolve));
}

/** Asks how an action should be done; resolves to the chosen way, or to null. */
export function choose<Value>(
  asked: Omit<Asked, 'verb'>,
  choices: readonly [Choice<Value>, ...Choice<Value>[]],
): Promise<Value | null> {
  return new Promise((resolve) =>
    show({ ...asked, verb: choices[0].verb, choices }, (yes, value) => resolve(yes ? (value as Value) : null)),
  );
}

/** Asks how an action should be done, and for a text. Resolves to both, or to null. */
export function chooseWithNote<Value>(
  asked: Omit<Asked, 'verb'> & { noteLabel: string },
  choices: readonly [Choice<Value>, ...Choice<Value>[]],
): Promise<{ value: Value; note: string } | null> {
  return new Promise((resolve) =>
    show({ ...asked, verb: choices[0].verb, choices }, (yes, value, note = '') =>
      resolve(yes ? { value: value as Value, note: note.trim() } : null),
    ),
  );
}

function show(asked: Omit<Question, 'answer'>, answered: Question['answer']): void {
  question.value = {
    ...asked,
    answer: (...answer) => {
      question.value = null;
      answered(...answer);
    },
  };
}

export function Confirm() {
  return question.value && <ConfirmDialog key={question.value.title} question={question.value} />;
}

function ConfirmDialog({
  question: { title, body, lines = [], verb, typed, choices, noteLabel, destroys, answer },
}: {
  question: Question;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [note, setNote] = useState('');
  const [chosen, setChosen] = useState(choices?.[0]);
  useEffect(() => dialog.current?.showModal(), []);
  const agreed = typed === undefined || isTyped(text, typed);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="confirm-title" onClose={() => answer(false)}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (agreed) answer(true, chosen?.value, note);
        }}
      >
        <h2 id="confirm-title">{title}</h2>
        <p>{body}</p>
        {lines.length > 0 && (
          <ul class="dialog-lines">
            {lines.map((line) => (
              <li key={line}>
                <bdi>{line}</bdi>
              </li>
            ))}
          </ul>
        )}
        {choices && (
          <fieldset class="choices">
            <legend>How</legend>
            {choices.map((choice) => (
              <label key={choice.words}>
                <input type="radio" name="choice" checked={choice === chosen} onChange={() => setChosen(choice)} />
                {choice.words}
              </label>
            ))}
          </fieldset>
        )}
        {noteLabel !== undefined && (
          <label class="field">
            <span>{noteLabel}</span>
            <input
              value={note}
              onInput={(event) => setNote(event.currentTarget.value)}
              maxLength={LONGEST_NOTE}
              autocomplete="off"
            />
          </label>
        )}
        {typed !== undefined && (
          <label class="field">
            <span>
              Type <bdi>{typeof typed === 'number' ? count(typed) : typed}</bdi> to continue
            </span>
            <input
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
              inputMode={typeof typed === 'number' ? 'numeric' : 'text'}
              autocomplete="off"
              autocapitalize="off"
              spellcheck={false}
            />
          </label>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={() => answer(false)}>
            Keep as it is
          </button>
          <button type="submit" class={destroys ? 'danger' : 'primary'} disabled={!agreed || unreachable.value}>
            {chosen?.verb ?? verb}
          </button>
        </div>
      </form>
    </dialog>
  );
}

function isTyped(text: string, typed: number | string): boolean {
  return typeof typed === 'number' ? text.replaceAll(/[^\d]/g, '') === String(typed) : text.trim() === typed;
}
