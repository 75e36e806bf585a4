// Our words for the errors of commander: what is wrong, what is expected, and what was found.
import { meantState } from '../../inspect/search.js';
import { withoutQuotedPasswords } from '../failure.js';

const SUGGESTION = /\n\(Did you mean ([^\n]*)\?\)$/;

const WORDS: readonly [pattern: RegExp, ours: (...found: string[]) => string][] = [
  [/^unknown option '(.*)'$/s, (option) => `There is no option ${option}.`],
  [/^unknown command '(.*)'$/s, (command) => `There is no command ${command}.`],
  [/^missing required argument '(.*)'$/s, (argument) => `The argument <${argument}> is missing.`],
  [/^option '(?:-\w, )?(--[\w-]+) (.*)' argument missing$/s, (name, value) => `${name} needs its value ${value}.`],
  [
    /^too many arguments for '(.*)'\. Expected (\d+) arguments? but got (\d+)\.$/s,
    (command, most, found) => `${command}: expected at most ${most} arguments, found ${found}.`,
  ],
  [
    /^option '(?:-\w, )?(--[\w-]+).*?' argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s,
    (name, found, choices) => `${name}: expected ${choices}, found "${found}".`,
  ],
  [
    /^option '(--[\w-]+).*?' cannot be used with option '(--[\w-]+).*?'$/s,
    (first, second) => `${first} and ${second} exclude each other.`,
  ],
  [
    /^command-argument value '(.*)' is invalid for argument '(.*)'\. Allowed choices are (.*)\.$/s,
    (found, name, choices) => `<${name}>: expected ${choices}, found "${found}".${hintFor(found, choices)}`,
  ],
];

/** Returns the state that was meant, where it is one of the choices. */
function hintFor(found = '', choices = ''): string {
  const meant = meantState(found);
  return meant !== undefined && choices.split(', ').includes(meant) ? ` Did you mean ${meant}?` : '';
}

/** Returns an error of commander in our words, without a possible password in what it quotes. */
export function usageWords(words: string): string {
  const said = words.trimEnd().replace(/^error: /, '');
  const [whole = '', suggested] = SUGGESTION.exec(said) ?? [];
  const plain = withoutQuotedPasswords(said.slice(0, said.length - whole.length));
  const [pattern, ours] = WORDS.find(([each]) => each.test(plain)) ?? [];
  const inOurs = pattern && ours ? ours(...pattern.exec(plain)!.slice(1)) : plain;
  return suggested === undefined ? inOurs : `${inOurs} Did you mean ${suggested}?`;
}
