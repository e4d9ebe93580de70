// 1. A draft changes nothing itself: what was added to it, or made of it, is taken over when its reducer has ended.
// 2. Adding to it costs the same for any length of the log; any other change copies the list.

/** What a reducer of a log is given: a list to its user, which keeps what is done to it. */
export interface LogChange {
  readonly added: readonly unknown[];
  /** All entries, once something else than adding was done; `added` does not count then. */
  readonly replaced: readonly unknown[] | undefined;
}

const changeOf = Symbol("change of a log");
/** Methods that read, and keep no hold on the list: they run on the entries themselves. */
const reading = new Set<string | symbol>([
  Symbol.iterator,
  "concat",
  "includes",
  "indexOf",
  "join",
  "keys",
  "lastIndexOf",
  "slice",
  "toReversed",
  "toSorted",
  "toSpliced",
  "values",
  "with",
]);
/** The same, with a function that is told the list. */
const visiting = new Set<string | symbol>([
  "every",
  "filter",
  "find",
  "findIndex",
  "findLast",
  "findLastIndex",
  "flatMap",
  "forEach",
  "map",
  "some",
]);

/** A draft of these entries, and all that `append` makes of it, can be used as long as the scope lives. */
export interface DraftScope {
  live: boolean;
}

export function draftLog(entries: readonly unknown[], scope: DraftScope): unknown[] {
  return new LogDraft(entries, [], scope).proxy;
}

/** What was done to a draft of these entries; undefined for what is none. */
export function logChange(list: unknown, entries: readonly unknown[]): LogChange | undefined {
  const change = (list as { readonly [changeOf]?: LogDraft } | null)?.[changeOf];
  return change?.entries === entries ? change : undefined;
}

/** The draft of a log with one more item, itself unchanged; undefined for any other list. */
export function appendedTo<T>(list: readonly T[], item: T): readonly T[] | undefined {
  const change = (list as { readonly [changeOf]?: LogDraft })[changeOf];
  return change?.with(item) as T[] | undefined;
}

class LogDraft implements ProxyHandler<unknown[]>, LogChange {
  readonly proxy: unknown[];
  readonly added: unknown[];
  replaced: unknown[] | undefined;
  readonly entries: readonly unknown[];
  readonly #scope: DraftScope;

  constructor(entries: readonly unknown[], added: unknown[], scope: DraftScope) {
    this.entries = entries;
    this.added = added;
    this.#scope = scope;
    // Its target has to be a list for Array.isArray.
    this.proxy = new Proxy(added, this);
  }

  with(item: unknown): unknown[] {
    this.#assertLive();
    const longer = new LogDraft(this.entries, [...this.added, item], this.#scope);
    if (this.replaced !== undefined) longer.replaced = [...this.replaced, item];
    return longer.proxy;
  }

  get(target: unknown[], key: string | symbol): unknown {
    if (key === changeOf) return this;
    this.#assertLive();
    if (key === "length") return this.#length();
    if (key === "push") return (...items: unknown[]) => this.#push(items);
    if (reading.has(key)) return (...values: unknown[]) => this.#methods()[key]?.(...values);
    if (visiting.has(key)) {
      return (visit: (...values: unknown[]) => unknown, that?: unknown) =>
        this.#methods()[key]?.((item: unknown, at: unknown) => visit.call(that, item, at, this.proxy));
    }
    const at = indexOf(key);
    return at === undefined ? Reflect.get(target, key) : this.#at(at);
  }

  set(_: unknown[], key: string | symbol, value: unknown): boolean {
    this.#assertLive();
    const at = indexOf(key);
    if (at === this.#length()) this.#push([value]);
    else if (at !== undefined) this.#changed()[at] = value;
    else if (key !== "length") return false;
    else if (value !== this.#length()) this.#changed().length = value as number;
    return true;
  }

  deleteProperty(_: unknown[], key: string | symbol): boolean {
    this.#assertLive();
    return Reflect.deleteProperty(this.#changed(), key);
  }

  defineProperty(): boolean {
    return false;
  }

  preventExtensions(): boolean {
    return false;
  }

  has(target: unknown[], key: string | symbol): boolean {
    this.#assertLive();
    const at = indexOf(key);
    return at === undefined ? Reflect.has(target, key) : at < this.#length();
  }

  ownKeys(): (string | symbol)[] {
    this.#assertLive();
    return Reflect.ownKeys(this.#list());
  }

  getOwnPropertyDescriptor(_: unknown[], key: string | symbol): PropertyDescriptor | undefined {
    this.#assertLive();
    if (key === "length") return { value: this.#length(), writable: true, enumerable: false, configurable: false };
    const at = indexOf(key);
    if (at === undefined || at >= this.#length()) return undefined;
    return { value: this.#at(at), writable: true, enumerable: true, configurable: true };
  }

  #push(items: readonly unknown[]): number {
    this.#assertLive();
    (this.replaced ?? this.added).push(...items);
    return this.#length();
  }

  #assertLive(): void {
    if (!this.#scope.live) throw new TypeError("A draft of a log cannot be used after its reducer has ended.");
  }

  #length(): number {
    return this.replaced?.length ?? this.entries.length + this.added.length;
  }

  #at(index: number): unknown {
    if (this.replaced !== undefined) return this.replaced[index];
    const { length } = this.entries;
    return index < length ? this.entries[index] : this.added[index - length];
  }

  #list(): readonly unknown[] {
    return this.replaced ?? (this.added.length === 0 ? this.entries : [...this.entries, ...this.added]);
  }

  #methods(): Readonly<Record<string | symbol, (...values: unknown[]) => unknown>> {
    return this.#list() as never;
  }

  #changed(): unknown[] {
    return (this.replaced ??= [...this.entries, ...this.added]);
  }
}

function indexOf(key: string | symbol): number | undefined {
  if (typeof key !== "string") return undefined;
  const at = Number(key);
  return Number.isInteger(at) && at >= 0 && String(at) === key ? at : undefined;
}
