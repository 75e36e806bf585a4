/** A value that a server sent: text, a number, nothing, an error, or a list of these. */
export type Reply = string | number | null | Error | Reply[];

const CR = 13;
const LF = 10;

/** A list whose values have not all arrived. */
interface OpenList {
  values: Reply[];
  missing: number;
}

/**
 * Reads the replies of a connection that subscribes. ioredis cannot: version 5 ends the process at a sunsubscribe that it
 * did not ask for. Understands what a server sends to SUBSCRIBE, SSUBSCRIBE, their ends and PING, in RESP2 and RESP3.
 */
export class ReplyReader {
  private rest: Buffer = Buffer.alloc(0);
  private readonly lists: OpenList[] = [];

  constructor(private readonly onReply: (reply: Reply) => void) {}

  /** @throws TypeError for bytes that are no such reply */
  read(bytes: Buffer): void {
    this.rest = this.rest.length === 0 ? bytes : Buffer.concat([this.rest, bytes]);
    let at = 0;
    for (let next = this.readAt(at); next !== undefined; next = this.readAt(at)) {
      at = next;
    }
    this.rest = this.rest.subarray(at);
  }

  /** Reads one line, and the text that it announces. Returns where the next one begins; undefined if bytes are missing. */
  private readAt(at: number): number | undefined {
    const end = this.endOfLine(at);
    if (end === undefined) {
      return undefined;
    }
    const line = this.rest.toString('utf8', at + 1, end);
    const next = end + 2;
    switch (String.fromCharCode(this.rest[at]!)) {
      case '+':
        return this.got(line, next);
      case '-':
        return this.got(Object.assign(new Error(line), { name: 'ReplyError' }), next);
      case ':':
        return this.got(Number(line), next);
      case '_':
        return this.got(null, next);
      case '$':
        return this.text(Number(line), next);
      case '*':
      case '>':
        return this.list(Number(line), next);
      default:
        throw new TypeError(`expected a reply of Redis, found ${JSON.stringify(line.slice(0, 40))}`);
    }
  }

  private endOfLine(at: number): number | undefined {
    const end = this.rest.indexOf(CR, at);
    return end >= 0 && this.rest[end + 1] === LF ? end : undefined;
  }

  private text(length: number, from: number): number | undefined {
    if (length < 0) {
      return this.got(null, from);
    }
    return this.rest.length < from + length + 2
      ? undefined
      : this.got(this.rest.toString('utf8', from, from + length), from + length + 2);
  }

  private list(length: number, next: number): number {
    if (length <= 0) {
      return this.got(length < 0 ? null : [], next);
    }
    this.lists.push({ values: [], missing: length });
    return next;
  }

  /** Adds a value to the innermost open list, and hands out a whole reply. */
  private got(value: Reply, next: number): number {
    const list = this.lists.at(-1);
    if (!list) {
      this.onReply(value);
      return next;
    }
    list.values.push(value);
    list.missing--;
    if (list.missing === 0) {
      this.lists.pop();
      return this.got(list.values, next);
    }
    return next;
  }
}
