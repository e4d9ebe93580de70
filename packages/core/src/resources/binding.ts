import { DefinitionError } from "../errors.ts";
import { checkOptionNames } from "../option-names.ts";
import { describeValue, isObjectOrFunction, isRecord } from "../values.ts";
import type { ResourceKey } from "./key.ts";

/** singleton: one in its scope; toolCall: one a call; prototype: one each time it is asked for. */
export type ResourceScope = "singleton" | "toolCall" | "prototype";

/** What stands for a resource key in an evaluation; made by `provide` and `provideFactory`. */
export interface Binding<out T = unknown> {
  /** The key that handlers ask for the resource with. */
  readonly key: ResourceKey<T>;
  /** How far an instance is shared. */
  readonly scope: ResourceScope;
  /** Whether it is created when it is opened, and not at its first use. */
  readonly eager: boolean;
  /** Creates an instance. `resources` are those that it may depend on. */
  create(resources: Resources): T | Promise<T>;
  /** undefined: never closed here, as a ready instance. */
  readonly close: ((instance: never) => void | Promise<void>) | undefined;
}

/** The instance that a key stands for. */
export type ResourceOf<K> = K extends ResourceKey<infer T> ? T : never;

/** Resources of which only these keys may be asked for: those that a tool declares with `uses`. */
export interface UsedResources<K extends ResourceKey<unknown>> {
  /**
   * Like `Resources.get`, for the declared keys alone.
   * @throws {DefinitionError} for a key that the tool does not declare.
   */
  get<const Key extends K>(key: Key): ResourceOf<Key>;
  /**
   * Like `Resources.find`, for the declared keys alone.
   * @throws {DefinitionError} for a key that the tool does not declare.
   */
  find<const Key extends K>(key: Key): ResourceOf<Key> | undefined;
  /**
   * Like `Resources.open`, for the declared keys alone.
   * @throws {DefinitionError} for a key that the tool does not declare.
   */
  open<const Key extends K>(key: Key): Promise<ResourceOf<Key>>;
}

/** What a call's tools work with, by key. */
export interface Resources {
  /**
   * What is there or can be made at once; a DefinitionError if unbound, or if its factory is asynchronous and was not
   * opened (`open` it, or bind it eager).
   */
  get<T>(key: ResourceKey<T>): T;
  /** undefined when unbound. */
  find<T>(key: ResourceKey<T>): T | undefined;
  /** Makes it if need be, asynchronously too. */
  open<T>(key: ResourceKey<T>): Promise<T>;
}

/**
 * A ready instance: never closed by the runtime.
 * @example
 * ```ts
 * import { Filesystem, provide } from "@proviso/core";
 * import { memoryFilesystem } from "@proviso/runtime";
 *
 * const files = provide(Filesystem, memoryFilesystem({ "notes.txt": "Buy milk." }));
 * // The tools of an evaluation get it: adapter.evaluate(prompt, { resources: [files] }).
 * console.log(files.key.name); // Filesystem
 * ```
 * @throws {DefinitionError} for a key that `resourceKey` did not make.
 */
export function provide<T>(key: ResourceKey<T>, instance: NoInfer<T>): Binding<T> {
  checkKey("provide", key);
  return Object.freeze({ key, scope: "singleton", eager: false, create: () => instance, close: undefined });
}

/**
 * Binds a key to what a factory makes. The factory is called when the resource is first asked for, or, with `eager`, when the
 * evaluation begins. What it made is closed when its scope ends, the last made first: by `close`, else by
 * Symbol.asyncDispose or Symbol.dispose. Default scope: singleton.
 * @throws {DefinitionError} for a key that `resourceKey` did not make, a factory that is no function, or an unknown option.
 */
export function provideFactory<T>(
  key: ResourceKey<T>,
  create: (resources: Resources) => NoInfer<T> | Promise<NoInfer<T>>,
  options: {
    readonly scope?: ResourceScope | undefined;
    readonly eager?: boolean | undefined;
    readonly close?: ((instance: NoInfer<T>) => void | Promise<void>) | undefined;
  } = {},
): Binding<T> {
  checkKey("provideFactory", key);
  if (typeof create !== "function") {
    throw new DefinitionError(
      `The factory of "${key.name}" must be a function, not ${describeValue(create)}: provide(key, instance) takes what is ready.`,
    );
  }
  checkOptionNames("provideFactory", options, { scope: true, eager: true, close: true });
  const { scope = "singleton", eager = false, close = dispose } = options;
  return Object.freeze({ key, scope, eager, create, close });
}

/** Nothing asks with a text or a class: what is bound under one would never be found. */
function checkKey(by: string, key: unknown): void {
  if (typeof key === "object" && isRecord(key) && typeof key["name"] === "string") return;
  throw new DefinitionError(`${by} needs the key of a resource, which resourceKey makes, not ${describeValue(key)}.`);
}

async function dispose(instance: unknown): Promise<void> {
  if (!isObjectOrFunction(instance)) return;
  const disposable = instance as Partial<AsyncDisposable & Disposable>;
  if (typeof disposable[Symbol.asyncDispose] === "function") await disposable[Symbol.asyncDispose]?.();
  else disposable[Symbol.dispose]?.();
}
