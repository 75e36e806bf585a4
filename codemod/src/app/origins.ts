// Where a queue or a job comes from. A job has one type in BullMQ, and one for each origin here. The flow is followed through
// variables, members, parameters, results, lists and promises. Where the way ends, the origin is unknown, and nothing is guessed.
import {
  Node,
  SyntaxKind,
  type CallExpression,
  type ParameterDeclaration,
  type PropertyDeclaration,
  type SourceFile,
  type VariableDeclaration,
} from 'ts-morph';
import { isFromBull } from './bull-imports.js';
import { handledBy, isInjectedQueue, isProcess, kindOf } from './kinds.js';
import { declarationsOf } from './values.js';

/**
 * `running` is a job in its handler, `ended` that of an event. `record` was read from a queue, `handle` was added. `left` is made by
 * code that stays BullMQ's, and `stub` is an object, as tests make it.
 */
export type Origin = 'running' | 'ended' | 'record' | 'handle' | 'left' | 'stub' | 'unknown';

const READ = /^(getJobs?|getWaiting|getActive|getDelayed|getCompleted|getFailed|getPrioritized)$/;

/** The methods of a list that return some of its elements, or all of them. */
const SAME = /^(at|concat|filter|find|findLast|flat|pop|reverse|shift|slice|sort|toReversed|toSorted|values)$/;
/** The methods of a list that give each element to a function. */
const EACH = /^(every|filter|find|findIndex|findLast|flatMap|forEach|map|some|sort|toSorted)$/;

/** An injected queue is its declaration, which has its name. */
export type Origins = ReadonlySet<Origin | Node>;

const NONE: Origins = new Set();
const UNKNOWN: Origins = new Set<Origin>(['unknown']);

export class OriginFinder {
  private readonly known = new Map<Node, Origins>();
  /** The nodes on the present way: a circle adds nothing. */
  private readonly way = new Set<Node>();
  private callers: Map<string, CallExpression[]> | undefined;

  constructor(private readonly files: readonly SourceFile[]) {}

  /** Returns where the values of an expression or of a declaration come from. */
  of(node: Node | undefined): Origins {
    if (node === undefined) return NONE;
    const known = this.known.get(node);
    if (known) return known;
    if (this.way.has(node)) return NONE;
    this.way.add(node);
    const found = this.find(node);
    this.way.delete(node);
    // Part of a circle is known only at its beginning.
    if (this.way.size === 0) this.known.set(node, found);
    return found;
  }

  /** Returns true for a queue or job that stays one of BullMQ. */
  isLeft(node: Node): boolean {
    const origins = this.of(node);
    return origins.has('left') || (origins.size === 1 && origins.has('stub'));
  }

  private all(nodes: readonly (Node | undefined)[]): Origins {
    return new Set(nodes.flatMap((each) => [...this.of(each)]));
  }

  private find(node: Node): Origins {
    if (
      Node.isParenthesizedExpression(node) ||
      Node.isAsExpression(node) ||
      Node.isSatisfiesExpression(node) ||
      Node.isNonNullExpression(node) ||
      Node.isAwaitExpression(node) ||
      Node.isSpreadElement(node)
    ) {
      return this.of(node.getExpression());
    }
    if (Node.isConditionalExpression(node)) return this.all([node.getWhenTrue(), node.getWhenFalse()]);
    if (Node.isBinaryExpression(node))
      return this.ofBinary(node.getLeft(), node.getOperatorToken().getText(), node.getRight());
    if (Node.isArrayLiteralExpression(node)) return this.all(node.getElements());
    if (Node.isElementAccessExpression(node)) return this.of(node.getExpression());
    if (Node.isObjectLiteralExpression(node)) return new Set<Origin>(['stub']);
    if (Node.isNewExpression(node) && isContainer(node)) return this.all(node.getArguments());
    if (Node.isNewExpression(node)) return kindOf(node) === undefined ? UNKNOWN : new Set<Origin>(['left']);
    if (Node.isCallExpression(node)) return this.ofCall(node);
    if (Node.isIdentifier(node) || Node.isPropertyAccessExpression(node)) {
      if (['undefined', 'null'].includes(node.getText())) return NONE;
      const declarations = declarationsOf(node);
      return declarations.length === 0 ? UNKNOWN : this.all(declarations);
    }
    return node.getKind() === SyntaxKind.NullKeyword ? NONE : this.ofDeclaration(node);
  }

  private ofBinary(left: Node, operator: string, right: Node): Origins {
    if (['??', '||'].includes(operator)) return this.all([left, right]);
    return ['&&', '=', ','].includes(operator) ? this.of(right) : UNKNOWN;
  }

  private ofCall(call: CallExpression): Origins {
    const called = call.getExpression();
    if (Node.isPropertyAccessExpression(called)) {
      const owner = called.getExpression();
      const name = called.getName();
      const kind = kindOf(owner);
      if (kind === 'queue') {
        if (this.isLeft(owner)) return new Set<Origin>(['left']);
        if (READ.test(name)) return new Set<Origin>(['record']);
        if (/^add(Bulk)?$/.test(name)) return new Set<Origin>(['handle']);
        return UNKNOWN;
      }
      if (isFromBull(owner, 'Job')) return new Set<Origin>([name === 'fromId' ? 'record' : 'left']);
      if (owner.getText() === 'Promise' && /^(all|race|any)$/.test(name)) return this.all(call.getArguments());
      if (/^(then|catch|finally)$/.test(name)) return this.ofChain(call, owner, name);
      if (/^(map|flatMap)$/.test(name)) return this.ofResults(call.getArguments()[0]);
      if (owner.getText() === 'Object' && name === 'values') return this.ofValues(call.getArguments()[0]);
      if (name === 'get' && /^(Weak)?Map$/.test(owner.getType().getSymbol()?.getName() ?? ''))
        return this.of(owner);
      if (SAME.test(name)) return this.all([owner, ...(name === 'concat' ? call.getArguments() : [])]);
    }
    const functions = declarationsOf(called).filter(
      (each) => Node.isBodied(each) || Node.isBodyable(each) || isFunctionValue(each),
    );
    return functions.length === 0
      ? UNKNOWN
      : new Set(functions.flatMap((each) => [...this.ofResults(functionOf(each))]));
  }

  /** Returns the origins of a promise that another one makes. */
  private ofChain(call: CallExpression, owner: Node, name: string): Origins {
    if (name === 'finally') return this.of(owner);
    const results = call.getArguments().flatMap((each) => [...this.ofResults(each)]);
    return new Set([...results, ...(name === 'catch' ? this.of(owner) : [])]);
  }

  /** Returns the origins of what a variable or a property holds, also as a list to which later code adds. */
  private ofValuesOf(node: VariableDeclaration | PropertyDeclaration): Origins {
    const values = valuesOf(node);
    const added = values.some((each) => isContainer(each)) ? additionsTo(node) : [];
    const isDictionary = added.length > 0 && values.every((each) => isEmptyObject(each));
    return this.all(isDictionary ? added : [...values, ...added]);
  }

  /** Returns the origins of the values of an object. */
  private ofValues(object: Node | undefined): Origins {
    const values =
      object
        ?.getType()
        .getProperties()
        .flatMap((each) => each.getDeclarations()) ?? [];
    if (object !== undefined && values.length === 0) return this.of(object);
    return values.length === 0 ? UNKNOWN : this.all(values);
  }

  /** Returns the origins of what a function returns. */
  ofResults(node: Node | undefined): Origins {
    const made = node && functionOf(node);
    if (made === undefined) return UNKNOWN;
    if (Node.isArrowFunction(made) && !Node.isBlock(made.getBody())) return this.of(made.getBody());
    return this.all(returnsOf(made));
  }

  private ofDeclaration(node: Node): Origins {
    if (isInjectedQueue(node)) return new Set([node]);
    if (Node.isParameterDeclaration(node)) return this.ofParameter(node);
    if (Node.isVariableDeclaration(node)) {
      const loop = node.getParent().getParent();
      if (Node.isForOfStatement(loop)) return this.of(loop.getExpression());
      return this.ofValuesOf(node);
    }
    if (Node.isPropertyDeclaration(node)) return valuesOf(node).length === 0 ? UNKNOWN : this.ofValuesOf(node);
    if (Node.isBindingElement(node)) return this.ofElement(node);
    if (Node.isPropertyAssignment(node)) return this.of(node.getInitializer());
    if (Node.isShorthandPropertyAssignment(node)) return this.of(node.getNameNode());
    if (Node.isGetAccessorDeclaration(node))
      return node.isAbstract() ? this.ofOverrides(node.getName(), node) : this.all(returnsOf(node));
    return UNKNOWN;
  }

  /** Returns the origins of an abstract member: those of the classes that have it. */
  private ofOverrides(name: string, node: Node): Origins {
    const owner = node.getParent();
    const classes = Node.isClassDeclaration(owner) ? owner.getDerivedClasses() : [];
    const members = classes.flatMap((each) => each.getInstanceMember(name) ?? []);
    return members.length === 0 ? UNKNOWN : this.all(members);
  }

  private ofElement(node: Node): Origins {
    const pattern = node.getParent();
    const owner = pattern?.getParent();
    const from = Node.isVariableDeclaration(owner) ? owner.getInitializer() : undefined;
    if (from === undefined) return UNKNOWN;
    if (!Node.isArrayBindingPattern(pattern)) return UNKNOWN;
    const list = listOf(from);
    const index = pattern.getElements().indexOf(node as never);
    return list ? this.of(list[index]) : this.of(from);
  }

  private ofParameter(node: ParameterDeclaration): Origins {
    const giver = handledBy(node);
    if (giver) return new Set<Origin>([giver]);
    const owner = node.getParent();
    const index = 'getParameters' in owner ? owner.getParameters().indexOf(node) : -1;
    const call = owner.getParent();
    if (Node.isArrowFunction(owner) || Node.isFunctionExpression(owner)) {
      if (Node.isCallExpression(call)) return this.ofCallback(call, index);
      if (Node.isNewExpression(call)) return kindOf(call) === undefined ? UNKNOWN : new Set<Origin>(['left']);
    }
    if (Node.isMethodDeclaration(owner) && isProcess(owner)) return UNKNOWN;
    const calls = this.callsOf(owner);
    if (calls.length === 0) return this.ofUses(node);
    return this.all(calls.map((each) => each.getArguments()[index] ?? node.getInitializer()));
  }

  /** Returns the origins of a parameter of a function that nothing calls, by the functions to which it is passed. */
  private ofUses(node: ParameterDeclaration): Origins {
    const name = node.getName();
    const uses = node
      .getParent()
      .getDescendantsOfKind(SyntaxKind.Identifier)
      .filter((each) => each.getText() === name);
    const wanted = uses.flatMap((each) => {
      const call = each.getParent();
      const index =
        Node.isCallExpression(call) && declarationsOf(each).includes(node) ? call.getArguments().indexOf(each) : -1;
      const [method] = index < 0 ? [] : declarationsOf((call as CallExpression).getExpression());
      const parameter = Node.isMethodDeclaration(method) ? method.getParameters()[index] : undefined;
      const giver = parameter && handledBy(parameter);
      return giver ? [giver] : [];
    });
    return wanted.length === 0 ? UNKNOWN : new Set(wanted);
  }

  /** Returns the origins of a parameter of a function that a list or a promise calls. */
  private ofCallback(call: CallExpression, index: number): Origins {
    const called = call.getExpression();
    if (!Node.isPropertyAccessExpression(called)) return UNKNOWN;
    const [owner, name] = [called.getExpression(), called.getName()];
    const isElement = EACH.test(name) && (index === 0 || (index === 1 && /sort/i.test(name)));
    if (isElement || (name === 'reduce' && index === 1) || (name === 'then' && index === 0)) return this.of(owner);
    return UNKNOWN;
  }

  /** Returns the calls of a function in all files. */
  callsOf(node: Node): CallExpression[] {
    const named = Node.isArrowFunction(node) || Node.isFunctionExpression(node) ? node.getParent() : node;
    const name = named !== undefined && Node.hasName(named) ? named.getName() : undefined;
    if (name === undefined) return [];
    this.callers ??= this.readCalls();
    return (this.callers.get(name) ?? []).filter((call) => {
      const declared = declarationsOf(call.getExpression());
      return declared.some((each) => each === named || isOverride(named, each, name));
    });
  }

  private readCalls(): Map<string, CallExpression[]> {
    const calls = new Map<string, CallExpression[]>();
    for (const call of this.files.flatMap((each) => each.getDescendantsOfKind(SyntaxKind.CallExpression))) {
      const called = call.getExpression();
      const name = Node.isPropertyAccessExpression(called) ? called.getName() : called.getText();
      const list = calls.get(name);
      if (list) list.push(call);
      else calls.set(name, [call]);
    }
    return calls;
  }
}

/** Returns true if a method is that of a base class, or has it as its base. */
function isOverride(method: Node, other: Node, name: string): boolean {
  const [owner, otherOwner] = [method.getParent(), other.getParent()];
  if (!Node.isMethodDeclaration(method) || !Node.isMethodDeclaration(other)) return false;
  if (!Node.isClassDeclaration(owner) || !Node.isClassDeclaration(otherOwner) || other.getName() !== name)
    return false;
  const basesOf = (of: typeof owner) => {
    const list = [];
    for (let base = of.getBaseClass(); base; base = base.getBaseClass()) list.push(base);
    return list;
  };
  return basesOf(owner).includes(otherOwner) || basesOf(otherOwner).includes(owner);
}

/** Returns the elements of `[…]` and of `await Promise.all([…])`. */
function listOf(node: Node): readonly Node[] | undefined {
  if (Node.isAwaitExpression(node) || Node.isParenthesizedExpression(node)) return listOf(node.getExpression());
  if (Node.isArrayLiteralExpression(node)) return node.getElements();
  const isAll = Node.isCallExpression(node) && node.getExpression().getText() === 'Promise.all';
  return isAll && node.getArguments()[0] ? listOf(node.getArguments()[0]!) : undefined;
}

/** Returns the first value and the later ones of a variable or a property. */
function valuesOf(node: VariableDeclaration | PropertyDeclaration): Node[] {
  return [node.getInitializer(), ...assignmentsTo(node)].filter((each) => each !== undefined);
}

/** Returns the part of a file that can assign a variable or a property. */
function scopeOf(node: Node): Node | undefined {
  if (Node.isPropertyDeclaration(node)) return node.getParent();
  return node.getFirstAncestor((each) => Node.isBlock(each) || Node.isSourceFile(each));
}

/** Returns the values that are assigned to a variable or a property. */
export function assignmentsTo(node: Node): Node[] {
  const scope = scopeOf(node);
  const name = Node.hasName(node) ? node.getName() : '';
  return (scope?.getDescendantsOfKind(SyntaxKind.BinaryExpression) ?? [])
    .filter((each) => /^(=|\?\?=|\|\|=)$/.test(each.getOperatorToken().getText()))
    .filter((each) => new RegExp(`(^|\\.)${name.replaceAll('$', '\\$')}$`).test(each.getLeft().getText()))
    .filter((each) => declarationsOf(each.getLeft()).includes(node))
    .map((each) => each.getRight());
}

/** Returns true for a list, a map, a set, or an object to which code may add. */
function isContainer(node: Node): boolean {
  if (Node.isNewExpression(node)) return /^((Weak)?(Map|Set)|Array)$/.test(node.getExpression().getText());
  return Node.isArrayLiteralExpression(node) || isEmptyObject(node);
}

const isEmptyObject = (node: Node): boolean =>
  Node.isObjectLiteralExpression(node) && node.getProperties().length === 0;

/** The methods that add to a list, a map or a set, and the first argument that they add. */
const ADDING: Record<string, number> = { push: 0, unshift: 0, add: 0, set: 1, splice: 2 };

/** Returns what code adds to the list, the map or the set of a variable or a property. */
function additionsTo(node: Node): Node[] {
  const scope = scopeOf(node);
  const isOfNode = (each: Node) => declarationsOf(each).includes(node);
  const given = (scope?.getDescendantsOfKind(SyntaxKind.CallExpression) ?? []).flatMap((call) => {
    const called = call.getExpression();
    const name = Node.isPropertyAccessExpression(called) ? called.getName() : '';
    if (!Node.isPropertyAccessExpression(called) || !Object.hasOwn(ADDING, name)) return [];
    return isOfNode(called.getExpression()) ? call.getArguments().slice(ADDING[name]) : [];
  });
  const assigned = (scope?.getDescendantsOfKind(SyntaxKind.BinaryExpression) ?? []).flatMap((each) => {
    const left = each.getLeft();
    const isElement = /^(=|\?\?=|\|\|=)$/.test(each.getOperatorToken().getText());
    if (!isElement || !Node.isElementAccessExpression(left)) return [];
    return isOfNode(left.getExpression()) ? [each.getRight()] : [];
  });
  return [...given, ...assigned];
}

/** Returns what a function returns, without the functions inside of it. */
export function returnsOf(node: Node): Node[] {
  const values: Node[] = [];
  node.forEachDescendant((each, traversal) => {
    if (Node.isArrowFunction(each) || Node.isFunctionLikeDeclaration(each) || Node.isFunctionExpression(each))
      traversal.skip();
    const value = Node.isReturnStatement(each) ? each.getExpression() : undefined;
    if (value) values.push(value);
  });
  return values;
}

const isFunctionValue = (node: Node): boolean => functionOf(node) !== undefined;

/** Returns the function that a node is, or that its declaration has as its value. */
function functionOf(node: Node): Node | undefined {
  if (Node.isArrowFunction(node) || Node.isFunctionExpression(node) || Node.isFunctionDeclaration(node))
    return node;
  if (Node.isMethodDeclaration(node)) return node.isAbstract() ? undefined : node;
  const holds =
    Node.isVariableDeclaration(node) || Node.isPropertyDeclaration(node) || Node.isPropertyAssignment(node);
  const value = holds ? node.getInitializer() : undefined;
  return value && (Node.isArrowFunction(value) || Node.isFunctionExpression(value)) ? value : undefined;
}
