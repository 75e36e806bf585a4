// Puts changed scripts in the place of the right ones, in the commands that tests send. Some tests send a script within a text of their
// own, which adds a clock or counts the writes. The changed script takes the place of the right one within that text.
import { scriptDigest } from './script-digest.mjs';

export class ExchangedScripts {
  /** Whether a changed script was sent. */
  isSent = false;
  /** The changed scripts with their digests, by the digest of the right text. */
  byDigest = new Map();

  /** @param pairs the right and the changed text of each script */
  constructor(pairs) {
    this.pairs = pairs.map(([right, changed]) => ({ right: parted(right), changed: parted(changed) }));
    for (const [right, changed] of pairs) this.note(right, changed);
  }

  /** Changes the script of a command. */
  exchange({ name, args }) {
    if (this.pairs.length === 0 || (name !== 'evalsha' && name !== 'eval')) return;
    const script = String(args[0]);
    const found = this.byDigest.get(name === 'eval' ? scriptDigest(script) : script) ?? this.around(name, script);
    if (found === undefined) return;
    args[0] = name === 'eval' ? found.text : found.digest;
    this.isSent = true;
  }

  note(right, changed) {
    const found = { text: changed, digest: scriptDigest(changed) };
    this.byDigest.set(scriptDigest(right), found);
    return found;
  }

  /** Returns what to send for a text that holds a right script behind its flags. The longest is the one that the text is about. */
  around(name, text) {
    if (name !== 'eval') return undefined;
    const held = this.pairs.filter(({ right: [flags, rest] }) => text.startsWith(flags) && text.includes(rest));
    const [longest] = held.toSorted((one, other) => other.right[1].length - one.right[1].length);
    if (longest === undefined) return undefined;
    const { right, changed } = longest;
    return this.note(text, changed[0] + text.slice(right[0].length).replace(right[1], () => changed[1]));
  }
}

/** Splits off the first line, which has the flags. */
function parted(text) {
  const end = text.indexOf('\n') + 1;
  return [text.slice(0, end), text.slice(end)];
}
