import { expect, it } from '@jest/globals';
import { parse } from 'luaparse';
import { luaScripts } from '#queue/lua.generated.js';

interface Node {
  type?: string;
  isLocal?: boolean;
  variables?: unknown[];
  body?: Node[];
}

const isNode = (part: unknown): part is Node => typeof part === 'object' && part !== null;

function definesIn({ type, isLocal, variables = [] }: Node): number {
  if (type === 'LocalStatement') return variables.length;
  return type === 'FunctionDeclaration' && isLocal ? 1 : 0;
}

/** Returns the most locals that are in scope at once outside functions, behind `outer` ones. */
function mostLocals(statements: readonly Node[], outer = 0): number {
  let [here, most] = [outer, outer];
  for (const statement of statements) {
    here += definesIn(statement);
    most = Math.max(most, mostInside(statement, here));
  }
  return most;
}

function mostInside(node: Node, here: number): number {
  if (node.type === 'FunctionDeclaration') return here;
  if (node.body) return mostLocals(node.body, here);
  const parts: unknown[] = Object.values(node).flat();
  return Math.max(here, ...parts.filter(isNode).map((part) => mostInside(part, here)));
}

it('claim has at most 1,800 lines and 87 locals in scope at once', () => {
  const text = luaScripts.attemptClaim;
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(1_800);
  const script = parse(text.replace(/^#!.*/, ''), { luaVersion: '5.1', ranges: true });
  expect(mostInside(script as Node, 0)).toBeLessThanOrEqual(87);
});
