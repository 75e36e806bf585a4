// Counts the work of each script call by MONITOR, which shows a script's commands after it, marked `lua`.
import { createHash } from 'node:crypto';
import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';
import { luaScripts } from '#queue/lua.generated.js';
import type { HistoryWriter } from '../histories/history.js';

/** Watching slows the server down, so it watches half of the time. */
const LOOK_MS = 1_500;
/** Less than this is no work, and is not written down. */
const LEAST_COMMANDS = 100;

const names = new Map(
  Object.entries(luaScripts).map(([name, text]) => [createHash('sha1').update(text).digest('hex'), name]),
);

interface Call {
  script: string;
  args: number;
  commands: number;
}

export class ScriptWatch {
  private call: Call | undefined;
  private readonly stopping = new AbortController();
  private readonly looking: Promise<void>;

  constructor(
    private readonly server: { host: string; port: number },
    private readonly history: HistoryWriter,
  ) {
    this.looking = this.look();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.looking;
  }

  private async look(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      // Not by ioredis, which loses its place where the first lines come together with the answer.
      const socket = createConnection(this.server);
      socket.on('error', () => undefined); // the server may be away
      socket.write('MONITOR\r\n');
      const lines = createInterface({ input: socket });
      lines.on('line', (line) => this.see(line));
      lines.on('error', () => undefined); // it hands on those of the socket
      await rest();
      socket.destroy();
      this.note();
      await rest();
    }
  }

  /**
   * Parses a line such as `+1700000000.000001 [0 127.0.0.1:50000] "evalsha" "…" "2" "key" "key" "argument"`. Quotes
   * inside are escaped.
   */
  private see(line: string): void {
    if (line.includes(' lua] "')) {
      if (this.call) this.call.commands++;
      return;
    }
    this.note();
    const [command, sha, keys, ...others] = line.slice(line.indexOf('"') + 1).split('" "');
    const script = command?.toLowerCase() === 'evalsha' ? names.get(sha!) : undefined;
    this.call = script === undefined ? undefined : { script, args: others.length - Number(keys), commands: 0 };
  }

  private note(): void {
    const { call } = this;
    this.call = undefined;
    if (call && call.commands >= LEAST_COMMANDS)
      this.history.add(['script', call.script, call.args, call.commands]);
  }
}

function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}
