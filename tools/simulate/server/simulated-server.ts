// The server of a simulation: keys in memory and the scripts that ship, some of them with a planted fault. Counts the work of calls.
import type { LuaScriptName } from '#queue/lua.generated.js';
import { LuaTable } from '#memory/lua/values.js';
import { ObservedServer, type CallWithJobs, type QueueObserver } from '#memory/server/observed-server.js';
import { editedText, type Plant } from '../plants/plant.js';

/** What sets the marker that wakes a worker, see lua/lib/core/wake. */
const WAKE = "('ZADD', wake, '0', '1')";

export class SimulatedServer extends ObservedServer {
  /** The commands of scripts so far, and the items of their replies. */
  work = 0;
  /** The script that ran last, as a process called it. */
  last: CallWithJobs | undefined;
  private isSilent = false;
  private readonly edited = new Map<string, string>();

  constructor(
    clock: () => number,
    observer: QueueObserver,
    random: () => number,
    private readonly plant?: Plant,
  ) {
    super(clock, observer, { random });
    for (const [name, command] of Object.entries(this.commands)) {
      const counted: typeof command = (...args) => {
        const reply = command(...args);
        this.work += 1 + (reply instanceof LuaTable ? reply.items.length : 0);
        return reply;
      };
      Object.assign(this.commands, { [name]: counted });
    }
  }

  override sending<Reply>(call: CallWithJobs, run: () => Reply): Reply {
    this.last = call;
    return super.sending(call, run);
  }

  override run(text: string, keys: string[], args: string[], name?: string): ReturnType<ObservedServer['run']> {
    return super.run(this.textOf(text, name as LuaScriptName | undefined), keys, args, name);
  }

  /** Runs a call whose script wakes nobody. */
  wakingNobody<Reply>(run: () => Reply): Reply {
    this.isSilent = true;
    try {
      return run();
    } finally {
      this.isSilent = false;
    }
  }

  private textOf(text: string, script: LuaScriptName | undefined): string {
    const planted = this.plant && script ? this.plantedText(text, script) : text;
    return this.isSilent ? planted.replaceAll(WAKE, "('ZCARD', wake)") : planted;
  }

  private plantedText(text: string, script: LuaScriptName): string {
    const known = this.edited.get(text) ?? editedText(text, script, this.plant!.edits);
    this.edited.set(text, known);
    return known;
  }
}
