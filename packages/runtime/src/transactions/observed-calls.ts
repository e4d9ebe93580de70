import type { ResourceKey } from "@proviso/core";

/** A resource that a call asked for. */
export interface Touched {
  readonly callId: string;
  readonly name: string;
  readonly resource: unknown;
}

/** What observers see of a transaction. */
export interface ObservedCalls {
  /** The calls that it is the transaction of; left out: it is no call's. */
  readonly callIds?: readonly string[];
  /** Whether an observer takes what they change. */
  readonly isObserved?: boolean;
  /** What the calls asked for, in that order; noted where observers take changes. */
  touched?: Touched[];
  /** The calls that were reported to the observers. */
  reported?: Set<string>;
}

interface OfCall {
  readonly run: { readonly observing: { readonly takesChanges: boolean } | undefined };
  readonly call: { readonly id: string };
  readonly transaction: { readonly host: ObservedCalls };
}

/** Notes the resources that a call gets; undefined: no observer takes changes. */
export function noting({
  run,
  call,
  transaction: { host },
}: OfCall): ((key: ResourceKey<unknown>, resource: unknown) => void) | undefined {
  if (run.observing?.takesChanges !== true) return undefined;
  return ({ name }, resource) => void (host.touched ??= []).push({ callId: call.id, name, resource });
}
