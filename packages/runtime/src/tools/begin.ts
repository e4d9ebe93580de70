import { DefinitionError, type ResourceKey, type Tool, type ToolCall, type ToolPolicy } from "@proviso/core";
import { after, isGuardable, messageOf } from "@proviso/core/internal";
import { isFailure, type LimitFailure, type OnStop } from "../failures.ts";
import type { Touched } from "../transactions/observed-calls.ts";
import type { Run } from "../run.ts";
import { lockAll } from "../transactions/lock-all.ts";
import type { LockMode } from "../transactions/lock-state.ts";
import type { Participant } from "../transactions/snapshots.ts";
import {
  beginTransaction,
  newTransaction,
  type NotBegun,
  type PendingEvent,
  type Transaction,
  type TransactionHost,
  type TransactionOptions,
} from "../transactions/transaction.ts";
import type { Accepted } from "./invocation.ts";
import { policiesFor } from "./policies.ts";

interface More extends Partial<Pick<TransactionOptions, "parent" | "sessionMode">> {
  /** What it does is always undone: an attempt that has changed nothing holds nothing for it. */
  readonly isTrial?: true;
}

/** One transaction for calls that go together, or why none can begin; at once where nothing has to be waited for. */
export function beginCalls(
  run: Run,
  calls: readonly Accepted[],
  policies: readonly ToolPolicy[],
  more?: More,
): Transaction | NotBegun | Promise<Transaction | NotBegun> {
  try {
    const making = makeDeclared(run, calls);
    if (making !== undefined) return beginWhenMade(run, making, () => beginPrepared(run, calls, policies, more));
    return beginPrepared(run, calls, policies, more);
  } catch (error) {
    return { error };
  }
}

async function beginWhenMade(
  run: Run,
  making: Promise<void>,
  begin: () => ReturnType<typeof beginPrepared>,
): Promise<Transaction | NotBegun> {
  try {
    const stop = await run.limits.race(making, "tool");
    return isFailure(stop) ? stop : await begin();
  } catch (error) {
    return { error };
  }
}

function beginPrepared(
  run: Run,
  calls: readonly Accepted[],
  policies: readonly ToolPolicy[],
  more: More | undefined,
): ReturnType<typeof beginTransaction> {
  const options = optionsFor(run, calls, policies, more);
  const ending = run.endAttempt && run.tape?.endingAttempt(run, options.resources);
  if (ending !== undefined) return ending.then(() => beginPrepared(run, calls, policies, more));
  const error = unguardedWrite(run, calls, options.resources);
  if (error !== undefined) return { error };
  return after(holdForAttempt(run, options), (stop) => stop ?? beginTransaction(options));
}

/**
 * The attempt holds the session for its first call that may change something, and for the first one that uses resources
 * what all tools of the prompt may change: attempts that took that call by call, in the order of their models, would wait
 * for each other. undefined: it is held now.
 */
function holdForAttempt(run: Run, options: TransactionOptions): ReturnType<typeof lockAll> {
  const { attempt } = run;
  if (
    attempt === undefined ||
    attempt !== options.parent ||
    (options.mode === "read" && options.sessionMode === "read")
  )
    return undefined;
  const { core, sessionMode, mode, resources } = options;
  const usesNone = mode === "read" || resources.length === 0;
  const writers = usesNone ? [] : [...run.tools.values()].filter(({ readOnly }) => readOnly !== true);
  const checks = writers.flatMap((tool) => checksOf(policiesFor(run, tool)));
  const isLasting = ({ resource }: Participant): boolean =>
    run.tape !== undefined && !run.isInside && resource.durable === true;
  const others = resourcesFor(run, writers, checks, "write").filter((each) => !isLasting(each));
  return lockAll(attempt, { core, sessionMode, resources: others });
}

function checksOf(policies: readonly ToolPolicy[]): readonly ToolPolicy[] {
  return policies.length === 0 ? policies : policies.filter(({ check }) => check !== undefined);
}

/**
 * Calls that overlap and may write, by evaluations inside them, have a transaction each, inside the common one: what one
 * of them wrote is not undone with another.
 */
export async function beginEach(
  run: Run,
  calls: readonly Accepted[],
  parent: Transaction,
): Promise<Map<ToolCall, Transaction>> {
  const own = new Map<ToolCall, Transaction>();
  if (calls.every(({ tool }) => tool.readOnly === true)) return own;
  for (const each of calls) {
    const begun = await beginCalls(run, [each], [], { parent, sessionMode: "none" });
    if ("holds" in begun) own.set(each.call, begun);
  }
  return own;
}

/** What the tools declare is made first: then it is known what its factory asks for, and that is locked too. */
function makeDeclared({ resources }: Run, calls: readonly Accepted[]): Promise<void> | undefined {
  if (calls.every(({ tool }) => tool.uses === undefined)) return undefined;
  const missing = calls.flatMap(({ tool }) => resources.unmade(tool.uses ?? []));
  if (missing.length === 0) return undefined;
  return (async () => {
    for (const key of missing) await resources.resources.open(key);
  })();
}

/**
 * Returns a fault where a call inside a read-only call could change a resource. A resource with `guardedFor` refuses
 * changes by itself; one without cannot, and a tool that is not declared `readOnly` could change it while others read
 * it.
 */
function unguardedWrite(
  { nesting }: Run,
  calls: readonly Accepted[],
  resources: TransactionOptions["resources"],
): DefinitionError | undefined {
  const writer = nesting?.readOnly === true ? calls.find(({ tool }) => tool.readOnly !== true) : undefined;
  const unguarded = writer && resources.find(({ resource }) => !isGuardable(resource));
  if (writer === undefined || unguarded === undefined) return undefined;
  return new DefinitionError(
    `${writer.tool.name} may change "${unguarded.name}", but the call around it is read-only. Declare ${writer.tool.name} ` +
      `readOnly, or leave "${unguarded.name}" out of its uses, or give the resource a method guardedFor.`,
  );
}

/**
 * Makes the transaction of what runs after a call, such as feedback: it only reads, holds nothing yet, and is part of
 * the call's transaction if that began.
 */
export function transactionAfter(run: Run, call: ToolCall, transaction: Transaction | undefined): Transaction {
  return newTransaction(
    placed(run, [call.id], {
      parent: transaction ?? around(run),
      name: `the feedback after ${call.name} (${call.id})`,
      sessionMode: "none",
      resources: [],
      mode: "read",
    }),
  );
}

function optionsFor(
  run: Run,
  calls: readonly Accepted[],
  policies: readonly ToolPolicy[],
  more: More | undefined,
): TransactionOptions {
  const checks = checksOf(policies);
  const isReadOnly = run.nesting?.readOnly === true || calls.every(({ tool }) => tool.readOnly === true);
  const mode: LockMode = isReadOnly ? "read" : "write";
  // A check may dispatch, also for a tool that is read-only.
  const sessionMode = checks.length > 0 && run.nesting?.readOnly !== true ? "write" : mode;
  return placed(
    run,
    calls.map(({ call }) => call.id),
    {
      parent: more?.parent ?? (more?.isTrial === true && run.attempt?.holds.length === 0 ? outside(run) : around(run)),
      name: nameOf(calls),
      sessionMode: more?.sessionMode ?? sessionMode,
      resources: resourcesFor(
        run,
        calls.map(({ tool }) => tool),
        checks,
        mode,
      ),
      mode,
    },
  );
}

/** The transaction around the calls of the evaluation. */
function around(run: Run): Transaction | undefined {
  return run.attempt ?? outside(run);
}

/** The transaction around the whole evaluation. */
export function outside({ nesting, enclosing }: Run): Transaction | undefined {
  return nesting?.transaction ?? enclosing.parent;
}

/**
 * Adds which evaluation a transaction is of, and whom it reports to. The fields are written one by one: V8
 * makes an object with more fields behind a spread several times slower.
 */
export function placed(
  run: Run,
  callIds: readonly string[],
  { parent, name, sessionMode, resources, mode }: Omit<TransactionOptions, "id" | "core" | "startedIn" | "host">,
): TransactionOptions {
  const { enclosing } = run;
  return {
    id: run.evaluationId,
    core: run.core,
    parent,
    startedIn: enclosing.startedIn?.stage === "open" ? enclosing.startedIn : undefined,
    host: new CallHost(run, callIds),
    name,
    sessionMode,
    resources,
    mode,
  };
}

function nameOf(calls: readonly Pick<Accepted, "call">[]): string {
  const [first] = calls;
  if (calls.length === 1 && first !== undefined) return `the call of ${nameOfCall(first)}`;
  return `the calls of ${calls.map(nameOfCall).join(", ")}`;
}

function nameOfCall({ call }: Pick<Accepted, "call">): string {
  return `${call.name} (${call.id})`;
}

/** What the tools use, or everything; what the policies' checks read, for reading. */
function resourcesFor(
  run: Run,
  tools: readonly Tool[],
  checks: readonly ToolPolicy[],
  mode: LockMode,
): TransactionOptions["resources"] {
  const used = participantsOf(run, tools);
  if (used.length + checks.length === 0) return [];
  const own = used.map((participant) => ({ ...participant, mode }));
  if (checks.length === 0) return own;
  const read = participantsOf(run, checks).filter(({ resource }) => used.every((other) => other.resource !== resource));
  return [...own, ...read.map((participant) => ({ ...participant, mode: "read" as const }))];
}

function participantsOf(
  { resources }: Run,
  users: readonly { readonly uses?: readonly ResourceKey<unknown>[] | undefined }[],
): readonly Participant[] {
  if (users.some(({ uses }) => uses === undefined)) return resources.participants();
  const keys = users.flatMap(({ uses = [] }) => uses);
  return keys.length === 0 ? [] : resources.participants(keys);
}

/** The host of the transaction of these calls. */
class CallHost implements TransactionHost {
  private readonly run: Run;
  readonly callIds: readonly string[];
  readonly isObserved: boolean;
  touched?: Touched[];
  reported?: Set<string>;

  constructor(run: Run, callIds: readonly string[]) {
    this.run = run;
    this.callIds = callIds;
    this.isObserved = run.observing?.takesChanges === true;
  }
  within<T>(work: Promise<T>, onStop?: OnStop): Promise<T | LimitFailure> {
    return this.run.limits.race(work, "tool", onStop);
  }
  withinGrace(work: Promise<unknown>, onError: (error: unknown) => void): Promise<void> {
    return this.run.withinGrace(work, onError);
  }
  undone(events: readonly PendingEvent[]): void {
    this.run.tape?.undone(this.run, events);
  }
  redact<T>(value: T): T {
    return this.run.redaction.value(value);
  }
  report(operation: "rollback" | "commit", message: string, cause: unknown): void {
    const { run, callIds } = this;
    const fault = { operation, callIds, message, cause };
    for (let one: Run | undefined = run; one !== undefined; one = one.nesting?.run) one.faults.push(fault);
    run.log("error", { operation, callIds, error: messageOf(cause) }, "transaction.failed");
    run.publish({ type: "transaction.failed", turn: run.turn, operation, callIds, message });
  }
  warn(message: string, error: unknown): void {
    this.run.log("error", { callIds: this.callIds, error: messageOf(error) }, message);
  }
}
