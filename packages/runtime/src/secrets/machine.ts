// A machine that reads a text once and finds every one of its forms (Aho and Corasick).

/** What has been read last, as far as it may be the beginning of a form. */
export interface State {
  /** Characters of the longest form that ends here; 0: none does. */
  readonly found: number;
  /** Characters at the end that may be the beginning of a form. */
  readonly held: number;
}

export interface Machine {
  readonly start: State;
  next(state: State, code: number): State;
}

/** A prefix of some form; its children are the prefixes that are longer by one character. */
interface Node extends State {
  readonly code: number;
  readonly depth: number;
  child: Node | undefined;
  readonly sibling: Node | undefined;
  /** The longest prefix that this one ends with. */
  fail: Node | undefined;
  found: number;
  held: number;
}

/** Most characters of a text begin no form: for these of them no list is looked through. */
const quick = 128;

export function machineFor(forms: readonly string[]): Machine {
  const root: Node = { code: -1, depth: 0, child: undefined, sibling: undefined, fail: undefined, found: 0, held: 0 };
  for (const form of forms) {
    let node = root;
    for (let at = 0; at < form.length; at++)
      node = childOf(node, form.charCodeAt(at)) ?? grown(node, form.charCodeAt(at));
    node.found = form.length;
  }
  const first = Array.from({ length: quick }, (_, code) => childOf(root, code) ?? root);
  const next = (from: Node, code: number): Node => {
    for (let node = from; node.fail !== undefined; node = node.fail) {
      const child = childOf(node, code);
      if (child !== undefined) return child;
    }
    return code < quick ? (first[code] as Node) : (childOf(root, code) ?? root);
  };
  const queue = [root];
  // Grows while it is walked: shorter prefixes come first.
  for (const node of queue) {
    node.held = node.child === undefined ? (node.fail?.held ?? 0) : node.depth;
    for (let child = node.child; child !== undefined; child = child.sibling) {
      child.fail = node.fail === undefined ? root : next(node.fail, child.code);
      child.found ||= child.fail.found;
      queue.push(child);
    }
  }
  return { start: root, next: next as Machine["next"] };
}

function grown(node: Node, code: number): Node {
  const { child: sibling, depth } = node;
  return (node.child = { code, depth: depth + 1, child: undefined, sibling, fail: undefined, found: 0, held: 0 });
}

function childOf(node: Node, code: number): Node | undefined {
  let child = node.child;
  while (child !== undefined && child.code !== code) child = child.sibling;
  return child;
}
