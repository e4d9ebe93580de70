// 1. What `add` returned so far, and `end` at last, is the whole text with its secrets replaced, however it was cut.
// 2. Nothing is returned that may turn out to be part of a secret.
// 3. Each character is taken once and returned once: the work is linear in text and forms.
import { replacement } from "./forms.ts";

/** A text that comes in pieces, to be shown without its secrets. */
export interface Pieces {
  /** What can be shown now; the rest is held back. */
  add(piece: string): string;
  /** The rest. */
  end(): string;
}

/** A prefix of some form; its children are the prefixes that are longer by one character. */
interface Node {
  readonly code: number;
  readonly depth: number;
  child: Node | undefined;
  readonly sibling: Node | undefined;
  /** The longest prefix that this one ends with. */
  fail: Node | undefined;
  /** Characters of the longest form that ends here; 0: none does. */
  found: number;
  /** Characters at the end that may be the beginning of a form. */
  held: number;
}

/** A machine that reads a text once and finds every one of the forms (Aho and Corasick). */
export function piecesOf(forms: readonly string[]): () => Pieces {
  let root: Node | undefined;
  return () => openPieces((root ??= compiled(forms)));
}

function compiled(forms: readonly string[]): Node {
  const root: Node = { code: -1, depth: 0, child: undefined, sibling: undefined, fail: undefined, found: 0, held: 0 };
  for (const form of forms) {
    let node = root;
    for (let at = 0; at < form.length; at++)
      node = childOf(node, form.charCodeAt(at)) ?? grown(node, form.charCodeAt(at));
    node.found = form.length;
  }
  const queue = [root];
  // Grows while it is walked: shorter prefixes come first.
  for (const node of queue) {
    node.held = node.child === undefined ? (node.fail?.held ?? 0) : node.depth;
    for (let child = node.child; child !== undefined; child = child.sibling) {
      child.fail = node.fail === undefined ? root : step(node.fail, child.code);
      child.found ||= child.fail.found;
      queue.push(child);
    }
  }
  return root;
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

function step(from: Node, code: number): Node {
  let node = from;
  for (;;) {
    const child = childOf(node, code);
    if (child !== undefined) return child;
    if (node.fail === undefined) return node;
    node = node.fail;
  }
}

function openPieces(root: Node): Pieces {
  const unshown = openQueue();
  /** Found and not yet shown, apart from each other; later ones may still reach into them. */
  const secrets: { start: number; readonly end: number }[] = [];
  let node = root;
  let read = 0;

  const show = (until: number): string => {
    let shown = "";
    let done = 0;
    for (const { start, end } of secrets) {
      if (end > until) break;
      shown += unshown.take(start) + replacement;
      unshown.take(end);
      done += 1;
    }
    if (done > 0) secrets.splice(0, done);
    return shown + unshown.take(Math.min(until, secrets[0]?.start ?? until));
  };
  const found = (end: number, length: number): void => {
    let start = end - length;
    for (let last = secrets.at(-1); last !== undefined && last.end > start; last = secrets.at(-1)) {
      start = Math.min(start, last.start);
      secrets.pop();
    }
    secrets.push({ start, end });
  };
  return {
    add(piece) {
      unshown.add(piece);
      for (let at = 0; at < piece.length; at++) {
        node = step(node, piece.charCodeAt(at));
        read += 1;
        if (node.found > 0) found(read, node.found);
      }
      return show(read - node.held);
    },
    end() {
      node = root;
      return show(read);
    },
  };
}

/** Text that is added at its end and taken from its beginning, up to a position in the whole of it. */
function openQueue(): { add(piece: string): void; take(until: number): string } {
  let pieces: string[] = [];
  let first = 0;
  let offset = 0;
  let taken = 0;
  return {
    add: (piece) => void pieces.push(piece),
    take(until) {
      let text = "";
      while (taken < until) {
        const piece = pieces[first] as string;
        const part = piece.slice(offset, offset + until - taken);
        text += part;
        taken += part.length;
        offset += part.length;
        if (offset < piece.length) continue;
        offset = 0;
        first += 1;
      }
      if (first * 2 > pieces.length) {
        pieces = pieces.slice(first);
        first = 0;
      }
      return text;
    },
  };
}
