import { Argument, type Command } from 'commander';
import { systemClock } from '../queue/runtime/clock.js';
import { within } from '../queue/runtime/waits.js';
import type { Run } from './context.js';
import type { OutputStream } from './host-process.js';
import { lines } from './text.js';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** The hidden command that a completion calls for the names of the queues. */
const NAMES = 'queue-names';
/** The time that a user at a prompt waits for the names, in ms. */
const NAMES_MS = 1_000;

/** Adds the command that prints the completion of a shell, and the hidden one that the completion calls. */
export function addCompletion(program: Command, run: Run, stdout: OutputStream): void {
  addNames(program, run);
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'which shell').choices(SHELLS))
    .description('prints the completion for a shell; see docs/cli.md')
    .action((shell: (typeof SHELLS)[number]) => {
      stdout.write(SCRIPTS[shell](program));
    });
}

/** Adds the command that prints the names of the queues: in time or not at all, and no error. */
function addNames(program: Command, run: Run): void {
  program.command(NAMES, { hidden: true }).action(async (...given: unknown[]) => {
    let isLate = false;
    const print = run(async ({ session, out }) => {
      const names = await session.queueNames();
      if (!isLate && names.length > 0) {
        out.show(names, () => lines(names));
      }
    });
    await within(systemClock, NAMES_MS, print(...given), () => undefined).catch(() => undefined);
    isLate = true;
  });
}

const SCRIPTS: Record<(typeof SHELLS)[number], (program: Command) => string> = {
  bash: (program) => `${words(program)}
complete -o default -F _nest_job_queue nest-job-queue
`,
  zsh: (program) => `(( $+functions[compdef] )) || { autoload -U +X compinit && compinit; }
autoload -U +X bashcompinit && bashcompinit
${words(program)}
complete -o default -F _nest_job_queue nest-job-queue
`,
  fish,
};

/** Returns the commands that a user may type. */
function commandsOf(program: Command): readonly Command[] {
  return program.commands.filter((command) => command.name() !== NAMES);
}

/** Returns the commands whose first argument is the name of a queue. */
function queueCommandsOf(program: Command): string[] {
  const all = commandsOf(program).filter(({ registeredArguments: [first] }) => first?.name() === 'queue');
  return all.map((command) => command.name());
}

function optionsOf(command: Command): string[] {
  return command.options.flatMap(({ long }) => long ?? []);
}

/** Returns the options of the address and the prefix, without which the names would be those of another Redis. */
function addressOptions(program: Command): { valued: string[]; flags: string[] } {
  const valued = program.options.filter(({ required }) => required).flatMap(({ long }) => long ?? []);
  return { valued, flags: ['--cluster'] };
}

/** Returns the words that an argument of a command is one of. */
function choicesOf(command: Command): readonly string[] {
  return command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
}

/**
 * Returns functions of bash that complete the word under the cursor. The command is called by `eval`, which knows a
 * function. `compgen` expands its words, and the name of a queue has no character that it could expand.
 */
function words(program: Command): string {
  const cases = commandsOf(program).map((command) => {
    const known = [...choicesOf(command), ...optionsOf(command), ...optionsOf(program)];
    return `    ${command.name()}) words="${known.join(' ')}" ;;`;
  });
  const { valued, flags } = addressOptions(program);
  const names = commandsOf(program).map((command) => command.name());
  return `_nest_job_queue_names() {
  local known word wants=""
  known=()
  for word in $1; do
    if [[ -n "$wants" ]]; then known+=("$word"); wants=""; continue; fi
    case "$word" in
      ${valued.join('|')}) known+=("$word"); wants=1 ;;
      ${[...valued.map((option) => `${option}=*`), ...flags].join('|')}) known+=("$word") ;;
    esac
  done
  eval 'nest-job-queue ${NAMES} "\${known[@]}"' 2>/dev/null </dev/null
}
_nest_job_queue() {
  local words="" command="" first="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in
      ${valued.join('|')})
        i=$((i + 1))
        while [[ "\${COMP_WORDS[i + 1]}" == :* ]]; do i=$((i + 2)); done ;; # bash parts an address at its colons
      -*) ;;
      *) if [[ -z "$command" ]]; then command="\${COMP_WORDS[i]}"; else first="\${COMP_WORDS[i]}"; break; fi ;;
    esac
  done
  case "$command" in
    "") words="${[...names, ...optionsOf(program)].join(' ')}" ;;
${cases.join('\n')}
  esac
  case "$command" in
    ${queueCommandsOf(program).join('|')})
      if [[ -z "$first" && "\${COMP_WORDS[COMP_CWORD]}" != -* ]]; then
        words="$(_nest_job_queue_names "\${COMP_LINE:0:$COMP_POINT}")"
      fi ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}`;
}

function fish(program: Command): string {
  const all = commandsOf(program).flatMap((command) => [
    `complete -c nest-job-queue -n __fish_use_subcommand -a ${command.name()} -d ${quoted(command.description())}`,
    ...choiceLines(command),
    ...optionLines(command, `-n "__fish_seen_subcommand_from ${command.name()}" `),
  ]);
  const noFiles = 'complete -c nest-job-queue -f'; // no command takes a file
  const names = `complete -c nest-job-queue -n __nest_job_queue_wants_queue -a "(__nest_job_queue_names)"`;
  return `${[fishFunctions(program), noFiles, names, ...all, ...optionLines(program, '')].join('\n')}\n`;
}

/** Returns the functions of fish that say whether a queue is next, and that list the queues. */
function fishFunctions(program: Command): string {
  const { valued, flags } = addressOptions(program);
  return `function __nest_job_queue_wants_queue
  set -l words (commandline -opc)
  set -e words[1]
  set -l command
  while set -q words[1]
    switch $words[1]
      case ${valued.join(' ')}
        set -e words[1]
      case '-*'
      case '*'
        set -q command[1]; and return 1
        set command $words[1]
    end
    set -e words[1]
  end
  contains -- "$command" ${queueCommandsOf(program).join(' ')}
end
function __nest_job_queue_names
  set -l known
  set -l wants
  for word in (commandline -opc)
    if set -q wants[1]
      set -a known $word
      set -e wants
      continue
    end
    switch $word
      case ${valued.join(' ')}
        set -a known $word
        set wants yes
      case ${[...valued.map((option) => quoted(`${option}=*`)), ...flags].join(' ')}
        set -a known $word
    end
  end
  nest-job-queue ${NAMES} $known 2>/dev/null </dev/null
end`;
}

function choiceLines(command: Command): string[] {
  const choices = choicesOf(command);
  const condition = `-n "__fish_seen_subcommand_from ${command.name()}"`;
  return choices.length > 0 ? [`complete -c nest-job-queue ${condition} -a ${quoted(choices.join(' '))}`] : [];
}

function optionLines(command: Command, condition: string): string[] {
  return command.options.map(
    ({ long, description }) =>
      `complete -c nest-job-queue ${condition}-l ${(long ?? '').slice(2)} -d ${quoted(description)}`,
  );
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "\\'")}'`;
}
