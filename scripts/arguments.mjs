// The arguments of the commands of this repository, such as `npm run simulate`.
import { parseArgs } from 'node:util';

/**
 * Returns the arguments of a command, as parseArgs does; `about` of an option says what it is. With --help it prints them and ends
 * with 0. A wrong argument ends with 2 and a line that says which one.
 */
export function argumentsOf(command, { options, ...settings }) {
  try {
    const help = { type: 'boolean', short: 'h', default: false, about: 'prints this' };
    const all = { ...options, help };
    const parsed = parseArgs({ ...settings, options: all });
    if (!parsed.values.help) return parsed;
    process.stdout.write(usageOf(command, all));
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${command}: ${error.message}. See npm run ${command} -- --help.\n`);
    process.exit(2);
  }
}

function usageOf(command, options) {
  const rows = Object.entries(options).map(([name, { type, about, default: value }]) => {
    const isShown = value !== undefined && value !== false && String(value) !== '';
    return [`--${name}${type === 'string' ? ' …' : ''}`, `${about}${isShown ? ` (${value})` : ''}`];
  });
  const width = Math.max(...rows.map(([option]) => option.length));
  const lines = rows.map(([option, about]) => `  ${option.padEnd(width)}  ${about}\n`);
  return `Usage: npm run ${command} -- [options]\n\n${lines.join('')}`;
}
