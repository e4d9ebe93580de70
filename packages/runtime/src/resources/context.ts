// 1. A singleton is made once in its scope; a request while it is being made waits for that instance.
// 2. What the scope around binds is made, kept and closed there.
// 3. Ready instances are there from the start, so that a call locks and snapshots them when it begins. What comes later
//    is locked and snapshotted before it is handed out.
// 4. What a factory is given is guarded like what a handler is given.
import { DefinitionError, isSnapshotable, systemClock, type Binding, type Clock, type Resources } from "@proviso/core";
import { checkList, isNonNullObject } from "@proviso/core/internal";
import type { Participant } from "../transactions/snapshots.ts";
import type { Removed } from "../transactions/transaction.ts";
import { hiddenField } from "../hidden-field.ts";
import { asker } from "./asker.ts";
import type { AskerSources, Asking, Calling, CallResources, ResourceContext } from "./asking.ts";
import { isToLearn, madeForCalls, openCall } from "./call-resources.ts";
import { unguarded } from "./guard.ts";
import {
  closeStore,
  forget,
  isEmpty,
  newStore,
  positionOf,
  rememberFailedClose,
  removeSince,
  type Key,
  type MadeResource,
  type Store,
  type StorePosition,
} from "./store.ts";

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
  sources: ContextSources,
  clock: Clock = systemClock,
): ResourceContext | Promise<ResourceContext> {
  const context = new OpenContext(sources, clock);
  const first = context.eager();
  return first.length === 0 ? context : makeFirst(context, first);
}

const noBindings: ReadonlyMap<Key, Binding> = new Map();

/** What it keeps resources in, and who asks for them, is made when it is needed: most evaluations bind nothing. */
class OpenContext implements ResourceContext, AskerSources {
  bound = noBindings;
  isClosed = false;
  readonly outerOf: (key: Key) => ResourceContext | undefined;
  private readonly given: readonly Binding[];
  private readonly outers: readonly ResourceContext[];
  private readonly clock: Clock;
  /** What no scope around binds. */
  private inner: readonly Binding[] = [];
  private store: Store | undefined;
  private asking: ((asking: Asking) => Resources) | undefined;
  private root: Resources | undefined;
  private forFactories: Resources | undefined;

  constructor({ own, given = [], outerOf = () => undefined, outers = [] }: ContextSources, clock: Clock) {
    this.given = given;
    this.outers = outers;
    this.outerOf = outerOf;
    this.clock = clock;
    if (own.length + given.length === 0) return;
    this.bound = byKey([...own, ...given]);
    this.inner = [...this.bound.values()].filter(({ key }) => this.outerOf(key) === undefined);
  }

  get singletons(): Store {
    return (this.store ??= newStore(this.clock));
  }
  get resources(): Resources {
    if (this.root !== undefined) return this.root;
    this.root = this.ask({ path: [], isInjected: false, call: undefined });
    if (!this.isClosed) contexts.set(this.root, this);
    return this.root;
  }
  get injected(): Resources {
    return (this.forFactories ??= this.ask({ path: [], isInjected: true, call: undefined }));
  }

  binds(key: Key): boolean {
    return this.bound.has(key) || this.outerOf(key) !== undefined;
  }
  namesakeOf(key: Key): string {
    return namesakeIn(key, this.bound, this.outers);
  }
  /** What is made at once. */
  eager(): readonly Binding[] {
    return this.inner.filter(madeAtOnce);
  }
  async extend(more: readonly Binding[]): Promise<void> {
    const stays = ({ key }: Binding): boolean => this.given.some((other) => other.key === key);
    const isNew = (binding: Binding): boolean => this.bound.get(binding.key) !== binding && !stays(binding);
    const latest = [...byKey(more).values()];
    const added = latest.filter((each) => isNew(each) && this.outerOf(each.key) === undefined);
    if (added.length === 0) return;
    this.bound = byKey([...this.bound.values(), ...added]);
    for (const { key } of added) forget(this.singletons, key);
    this.inner = [...this.inner.filter(({ key }) => added.every((binding) => binding.key !== key)), ...added];
    for (const { key } of added.filter(madeAtOnce)) await this.resources.open(key);
  }
  forCall(call: Calling): CallResources {
    const { inner: bindings, singletons, outers } = this;
    return openCall({ bindings, singletons, outers, ask: (asking) => this.ask(asking) }, call);
  }
  unmade(keys: readonly Key[]): readonly Key[] {
    return keys.filter((key) => {
      const outer = this.outerOf(key);
      if (outer !== undefined) return outer.unmade([key]).length > 0;
      return this.bound.get(key)?.scope === "singleton" && !this.singletons.instances.has(key);
    });
  }
  makesForCalls(uses: readonly Key[]): boolean {
    return (
      this.inner.some((binding) => madeForCalls(binding) || isToLearn(binding, uses, this.singletons)) ||
      this.outers.some((outer) => outer.makesForCalls(uses))
    );
  }
  participants(keys?: readonly Key[]): readonly Participant[] {
    if (keys !== undefined) return participantsOf(keys, this);
    const around = this.outers.length === 0 ? [] : this.outers.flatMap((outer) => outer.participants());
    if (this.store === undefined || this.store.made.length === 0) return around;
    return distinct([...this.store.made.flatMap((made) => asParticipant(made, this)), ...around]);
  }
  position(): StorePosition {
    return positionOf(this.singletons);
  }
  removeSince(position: StorePosition): Removed {
    return removeSince(this.singletons, position);
  }
  rememberFailedClose(error: unknown): void {
    rememberFailedClose(this.singletons, error);
  }
  close(): Promise<void> | undefined {
    if (this.isClosed) return undefined;
    this.isClosed = true;
    if (this.root !== undefined) contexts.set(this.root, undefined);
    return this.store === undefined || isEmpty(this.store) ? undefined : closeStore(this.store);
  }

  private ask(asking: Asking): Resources {
    return (this.asking ??= asker(this))(asking);
  }
}

/** Maps the bindings by their keys; of two for one key the later counts. */
function byKey(bindings: readonly Binding[]): ReadonlyMap<Key, Binding> {
  return new Map(bindings.map((binding) => [binding.key, binding]));
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

function madeAtOnce({ scope, eager, close }: Binding): boolean {
  return scope === "singleton" && (eager || close === undefined);
}

function asParticipant(made: MadeResource, scope: ResourceContext): readonly Participant[] {
  const resource: unknown = unguarded(made.instance);
  return isSnapshotable(resource) ? [{ resource, name: made.binding.key.name, scope, made }] : [];
}

function distinct(participants: readonly Participant[]): readonly Participant[] {
  const known = new Map(participants.map((participant) => [participant.resource, participant] as const));
  return known.size === participants.length ? participants : [...known.values()];
}

/** Returns the participants behind the keys and all that their factories asked for. */
function participantsOf(keys: readonly Key[], scope: AskerSources): readonly Participant[] {
  const { singletons } = scope;
  if (keys.length === 0) return [];
  const seen = new Set(keys);
  const found: Participant[] = [];
  for (const key of seen) {
    const outer = scope.outerOf(key);
    if (outer !== undefined) found.push(...outer.participants([key]));
    else if (singletons.instances.has(key)) {
      const instance = singletons.instances.get(key);
      const made = singletons.made.find((each) => each.binding.key === key && each.instance === instance);
      if (made !== undefined) found.push(...asParticipant(made, scope));
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
  checkList("The bindings of openResources", "resources", bindings, "bindings");
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
