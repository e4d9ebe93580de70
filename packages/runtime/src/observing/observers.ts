// The observers of an adapter, checked; `evaluate.ts` loads what calls them.
import { DefinitionError, type FrameworkEvent, type Observer } from "@proviso/core";
import {
  ofEvaluation,
  surround,
  usedEvents,
  type EachObserver,
  type SparingObserver,
  type SurroundingObserver,
} from "@proviso/core/internal";

/** An observer of a program, or one of ours. */
export type AnyObserver = Observer & Partial<EachObserver & SparingObserver & SurroundingObserver>;

/** The observers of an adapter. */
export interface Observers {
  readonly all: readonly AnyObserver[];
  /** Whether any of them takes events. */
  readonly takesEvents: boolean;
  /** Whether an event of this type has to be made for one of them. */
  uses(type: FrameworkEvent["type"]): boolean;
  /** Whether any of them takes the events of applications. */
  readonly takesAppEvents: boolean;
  /** Whether any of them takes the changes of calls. */
  readonly takesChanges: boolean;
  /** Whether any of them runs steps in surroundings of its own. */
  readonly surrounds: boolean;
}

const members = ["event", "app", "changed", "around"] as const satisfies readonly (keyof Observer)[];

/** undefined: there are none. @throws {DefinitionError} for what is no observer, with its place in the list. */
export function openObservers(given: readonly Observer[] | undefined): Observers | undefined {
  if (given === undefined) return undefined;
  if (!Array.isArray(given)) throw new DefinitionError(`The option observers must be a list, not ${kindOf(given)}.`);
  for (const [index, one] of (given as readonly unknown[]).entries()) {
    const refuse = (why: string, found: unknown): never => {
      throw new DefinitionError(`observers[${index}] is no observer: ${why}, not ${kindOf(found)}.`);
    };
    if (typeof one !== "object" || one === null) return refuse("it must be an object", one);
    for (const name of members) {
      const member = (one as Observer)[name] as unknown;
      if (member !== undefined && typeof member !== "function") refuse(`${name} must be a function`, member);
    }
    const [given] = Object.keys(one);
    if (given !== undefined && !members.some((name) => (one as Observer)[name] !== undefined))
      throw new DefinitionError(
        `observers[${index}] is no observer: it has ${given}, and none of ${members.join(", ")}.`,
      );
  }
  return given.length === 0 ? undefined : observersOf([...given]);
}

function observersOf(all: readonly AnyObserver[]): Observers {
  const has = (name: keyof Observer): boolean => all.some((one) => one[name] !== undefined);
  return {
    all,
    takesEvents: has("event"),
    uses: (type) => all.some((one) => one.event !== undefined && one[usedEvents]?.has(type) !== false),
    takesAppEvents: has("app"),
    takesChanges: has("changed"),
    surrounds: has("around") || all.some((one) => one[surround] !== undefined),
  };
}

/** Returns the observers that take something of an evaluation that begins now; undefined: there are none. */
export function activeObservers(observers: Observers | undefined): Observers | undefined {
  if (observers?.all.some((one) => one[ofEvaluation] !== undefined) !== true) return observers;
  const active: AnyObserver[] = [];
  for (const one of observers.all) {
    const own = one[ofEvaluation] === undefined ? one : one[ofEvaluation]();
    if (own !== undefined) active.push(own);
  }
  return active.length === 0 ? undefined : observersOf(active);
}

function kindOf(value: unknown): string {
  if (typeof value === "string") return "a text";
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
