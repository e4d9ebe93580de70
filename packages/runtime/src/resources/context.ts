// 1. A singleton is made once in its scope; a request while it is being made waits for that instance.
// 2. What the scope around binds is made, kept and closed there.
// 3. Ready instances are there from the start, so that a call locks and snapshots them when it begins. What comes later
//    is locked and snapshotted before it is handed out.
// 4. What a factory is given is guarded like what a handler is given.
import { DefinitionError, isSnapshotable, systemClock, type Binding, type Clock, type Resources } from "@proviso/core";
import type { Participant } from "../transactions/snapshots.ts";
import { hiddenField } from "../hidden-field.ts";
import { asker } from "./asker.ts";
import type { Calling } from "./asking.ts";
import { isToLearn, madeForCalls, openCall, type CallResources } from "./call-resources.ts";
import { unguarded } from "./guard.ts";
import {
  closeStore,
  forget,
  isEmpty,
  newStore,
  positionOf,
  removeSince,
  type Key,
  type MadeResource,
  type Removed,
  type Store,
  type StorePosition,
} from "./store.ts";

/** The resources of one evaluation, or those that `openResources` opened. */
export interface ResourceContext {
  /** The resources for use outside a call. */
  readonly resources: Resources;
  /** What the factories of scopes inside this one get. */
  readonly injected: Resources;
  binds(key: Key): boolean;
  /** What to say of a key that is not bound, where another key of its name is; else an empty text. */
  namesakeOf(key: Key): string;
  /**
   * All bindings as they are now, the later of a key winning; ready instances and eager ones are made at once. What the
   * evaluation itself was given stays.
   */
  extend(bindings: readonly Binding[]): Promise<void>;
  /** Fresh `toolCall` resources for one call; the rest is shared. */
  forCall(call: Calling): CallResources;
  /** Returns the keys of singletons that are not made yet. */
  unmade(keys: readonly Key[]): readonly Key[];
  /**
   * Whether something is made when a call begins: what is `eager` in each call, and, once, what is declared of scopes
   * toolCall and prototype, because it is not known yet what their factories ask for.
   */
  makesForCalls(uses: readonly Key[]): boolean;
  /**
   * What is there and can be snapshotted: of these keys with what their factories asked for, or everything.
   */
  participants(keys?: readonly Key[]): readonly Participant[];
  position(): StorePosition;
  /** Forgets what was made after that position; the caller closes it, or puts it back. */
  removeSince(position: StorePosition): Removed;
  /** undefined where nothing was made. @throws {AggregateError} when closing failed somewhere; everything was tried. */
  close(): Promise<void> | undefined;
}
const contexts = hiddenField<ResourceContext>();

/** Whether `openResources` made it, and it is not closed. */
export function isOpened(resources: unknown): boolean {
  return isNonNullObject(resources) && contexts.of(resources as Resources) !== undefined;
}

/** The context behind an opened scope. @throws {DefinitionError} for anything else. */
export function contextOf(resources: Resources): ResourceContext {
  const context = isNonNullObject(resources) ? contexts.of(resources) : undefined;
  if (context === undefined)
    throw new DefinitionError(
      "These resources were not opened by openResources, or are closed: give what openResources returned (evaluate takes a list of bindings, too).",
    );
  return context;
}

/** Makes a view of an opened scope stand for it. */
export function rememberContext(resources: Resources, context: ResourceContext): void {
  contexts.set(resources, context);
}

/** What a scope is made of, and what is around it. */
export interface ContextSources {
  /** The bindings of the prompt. */
  readonly own: readonly Binding[];
  /** Given with the evaluation: these win over the prompt's and over those around. */
  readonly given?: readonly Binding[];
  /** The scope that binds a key instead of this one. */
  outerOf?(key: Key): ResourceContext | undefined;
  readonly outers?: readonly ResourceContext[];
}

function namesakeIn(key: Key, bound: ReadonlyMap<Key, Binding>, outers: readonly ResourceContext[]): string {
  const { name } = key;
  if (![...bound.keys()].some((other) => other.name === name)) {
    return outers.map((outer) => outer.namesakeOf(key)).find((text) => text !== "") ?? "";
  }
  return ` Another key "${name}" is bound: make the key once and import it; of a package, let one copy be installed.`;
}

/** Opens the resources: synchronously where nothing is made asynchronously. */
export function openContext(
  { own, given = [], outerOf = () => undefined, outers = [] }: ContextSources,
  clock: Clock = systemClock,
): ResourceContext | Promise<ResourceContext> {
  const bound = new Map<Key, Binding>();
  for (const bindings of [own, given]) for (const binding of bindings) bound.set(binding.key, binding);
  const singletons = newStore(clock);
  const state = { closed: false };
  const ask = asker({ bound, singletons, state, outerOf, self: () => context });
  const root = ask({ path: [], isInjected: false, call: undefined });
  const stays = ({ key }: Binding): boolean => given.some((other) => other.key === key);
  let inner = bound.size === 0 ? [] : [...bound.values()].filter(({ key }) => outerOf(key) === undefined);
  const context: ResourceContext = {
    resources: root,
    injected: ask({ path: [], isInjected: true, call: undefined }),
    binds: (key) => bound.has(key) || outerOf(key) !== undefined,
    namesakeOf: (key) => namesakeIn(key, bound, outers),
    async extend(more) {
      const isNew = (binding: Binding): boolean => bound.get(binding.key) !== binding && !stays(binding);
      const latest = new Map(more.map((binding) => [binding.key, binding]));
      const added = [...latest.values()].filter((each) => isNew(each) && outerOf(each.key) === undefined);
      for (const binding of added) {
        bound.set(binding.key, binding);
        forget(singletons, binding.key);
      }
      inner = [...inner.filter(({ key }) => added.every((binding) => binding.key !== key)), ...added];
      for (const { key } of added.filter(madeAtOnce)) await root.open(key);
    },
    forCall: (call) => openCall({ bindings: inner, singletons, ask, outers }, call),
    unmade: (keys) =>
      keys.filter((key) => {
        const outer = outerOf(key);
        if (outer !== undefined) return outer.unmade([key]).length > 0;
        return bound.get(key)?.scope === "singleton" && !singletons.instances.has(key);
      }),
    makesForCalls: (uses) =>
      inner.some((binding) => madeForCalls(binding) || isToLearn(binding, uses, singletons)) ||
      outers.some((outer) => outer.makesForCalls(uses)),
    participants(keys) {
      if (keys !== undefined) return participantsOf(keys, singletons, outerOf);
      const around = outers.length === 0 ? [] : outers.flatMap((outer) => outer.participants());
      if (singletons.made.length === 0) return around;
      const own = singletons.made.flatMap(asParticipant);
      return distinct([...own, ...around]);
    },
    position: () => positionOf(singletons),
    removeSince: (position) => removeSince(singletons, position),
    close() {
      if (state.closed) return undefined;
      state.closed = true;
      contexts.set(root, undefined);
      return isEmpty(singletons) ? undefined : closeStore(singletons);
    },
  };
  contexts.set(root, context);
  const first = inner.filter(madeAtOnce);
  return first.length === 0 ? context : makeFirst(context, first);
}

async function makeFirst(context: ResourceContext, first: readonly Binding[]): Promise<ResourceContext> {
  try {
    for (const { key } of first) await context.resources.open(key);
  } catch (error) {
    // Why it could not be opened counts, not what else went wrong then.
    await context.close()?.catch(() => {});
    throw error;
  }
  return context;
}

function isNonNullObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function madeAtOnce({ scope, eager, close }: Binding): boolean {
  return scope === "singleton" && (eager || close === undefined);
}

function asParticipant(made: MadeResource): readonly Participant[] {
  const resource: unknown = unguarded(made.instance);
  return isSnapshotable(resource) ? [{ resource, name: made.binding.key.name, made }] : [];
}

function distinct(participants: readonly Participant[]): readonly Participant[] {
  const known = new Map(participants.map((participant) => [participant.resource, participant] as const));
  return known.size === participants.length ? participants : [...known.values()];
}

/** Returns the participants behind the keys and all that their factories asked for. */
function participantsOf(
  keys: readonly Key[],
  singletons: Store,
  outerOf: (key: Key) => ResourceContext | undefined,
): readonly Participant[] {
  if (keys.length === 0) return [];
  const seen = new Set(keys);
  const found: Participant[] = [];
  for (const key of seen) {
    const outer = outerOf(key);
    if (outer !== undefined) found.push(...outer.participants([key]));
    else if (singletons.instances.has(key)) {
      const instance = singletons.instances.get(key);
      const made = singletons.made.find((each) => each.binding.key === key && each.instance === instance);
      if (made !== undefined) found.push(...asParticipant(made));
    }
    for (const asked of singletons.asked.get(key) ?? []) seen.add(asked);
  }
  return distinct(found);
}

/**
 * Opens bindings outside an evaluation, to share them between evaluations: `await using resources = await
 * openResources([...])`. They are used by several at once: each call locks what it uses.
 * @example
 * ```ts
 * import { Filesystem, provide } from "@proviso/core";
 * import { memoryFilesystem, openResources } from "@proviso/runtime";
 *
 * await using resources = await openResources([provide(Filesystem, memoryFilesystem({ "a.txt": "Hello." }))]);
 * // Several evaluations share them: adapter.evaluate(prompt, { resources }).
 * console.log((await resources.get(Filesystem).read("a.txt")).text); // Hello.
 * ```
 */
export async function openResources(bindings: readonly Binding[]): Promise<Resources & AsyncDisposable> {
  const context = await openContext({ own: bindings });
  const opened: Resources & AsyncDisposable = {
    ...context.resources,
    async [Symbol.asyncDispose]() {
      contexts.set(opened, undefined);
      await context.close();
    },
  };
  contexts.set(opened, context);
  return opened;
}
