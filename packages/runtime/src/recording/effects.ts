// What the calls of a run did outside its record: what may have been done, and what was committed.
import type { Tool, ToolCall } from "@proviso/core";
import type { Run } from "../run.ts";
import { currentTransaction } from "../transactions/async-context.ts";
import type { Transaction } from "../transactions/transaction.ts";
import type { KeyOfCall } from "./contract.ts";
import type { EntryContent } from "./entries.ts";
import { MadeEntry } from "./kept-entry.ts";
import type { UnknownCall } from "./run-source.ts";
import { isAllIn, isOpenIn, isOpenInBody, type Together } from "./together.ts";

/** How effects are kept. */
interface Keeper {
  append(evaluationId: string, content: EntryContent | MadeEntry): void;
  assertNoFault(): void;
  /** `by`: what waits for it. */
  flushed(by?: Transaction): Promise<void> | undefined;
  assertMayWait(by?: Transaction): void;
  /** Whether a write has failed that nothing waited for yet. */
  readonly hasFailed: boolean;
  /** Whether an agent is asked. */
  readonly isInTurn: boolean;
  readonly together: Together | undefined;
  writeTogether(): void;
}

/** An entry which says that a handler begins or has ended, with the key of its call. */
class HandlerEntry extends MadeEntry {
  readonly kind: "started" | "finished";
  readonly turn: number;
  readonly callId: string;
  readonly #key: KeyOfCall | undefined;

  constructor(kind: "started" | "finished", turn: number, callId: string, key: KeyOfCall | undefined) {
    super();
    this.kind = kind;
    this.turn = turn;
    this.callId = callId;
    this.#key = key;
  }

  content(): EntryContent {
    const { kind, turn, callId } = this;
    return { kind, turn, callId, idempotencyKey: this.#key?.value ?? "" };
  }
}

/** Calls whose end the record has only when their transaction has ended, because a resource outlives the process. */
export class EffectRecord {
  readonly #unknown: readonly UnknownCall[];
  readonly #keeper: Keeper;
  readonly #known = new Set<string>();
  readonly #keys = new Map<string, KeyOfCall>();
  readonly #held = new Map<Transaction, string[]>();
  /** Whether the turn of an agent has changed what stays when it is lost. */
  staysOfTurn = false;

  constructor(unknown: readonly UnknownCall[], keeper: Keeper) {
    this.#unknown = unknown;
    this.#keeper = keeper;
  }

  /** Whether the call may have been done, and nothing says that it may be done again. */
  isUnknown(turn: number, callId: string, { readOnly, idempotent, transactional }: Tool): boolean {
    if (this.#known.has(`${turn} ${callId}`)) return false;
    const call = this.#unknownCall(turn, callId);
    if (call === undefined || readOnly === true || idempotent === true) return false;
    return transactional !== true || call.isFinished;
  }

  /** Whether it was a limit that stopped the call, and not the end of its process. */
  wasStopped(turn: number, callId: string): boolean {
    return this.#unknownCall(turn, callId)?.isStopped === true;
  }

  #unknownCall(turn: number, callId: string): UnknownCall | undefined {
    return this.#unknown.find((each) => each.turn === turn && each.callId === callId);
  }

  /** A handler is about to begin; resolves when that is kept. undefined: nothing has to be waited for. */
  starting(run: Run, call: ToolCall, tool: Tool, key: KeyOfCall): Promise<void> | undefined {
    this.#keeper.assertNoFault();
    const waits = (tool.readOnly !== true || this.#keeper.hasFailed) && !this.#isInOpenFile(run);
    const by = currentTransaction()?.transaction;
    if (waits) this.#keeper.assertMayWait(by);
    this.#keys.set(call.id, key);
    this.#keeper.append(run.evaluationId, new HandlerEntry("started", run.turn, call.id, key));
    return waits ? this.#keeper.flushed(by) : undefined;
  }

  /** Whether it is inside a call that has changed something in the file of the run: nothing is kept before that call is. */
  #isInOpenFile({ nesting }: Run): boolean {
    const { together } = this.#keeper;
    if (together === undefined) return false;
    for (let around = nesting?.transaction; around !== undefined; around = around.parent) {
      if (isOpenIn(together, around)) return true;
    }
    return false;
  }

  succeeded(run: Run, call: ToolCall, transaction: Transaction): void {
    if (this.#unknown.length > 0) this.#known.add(`${run.turn} ${call.id}`);
    const isDurable = transaction.snapshots.some(({ resource }) => resource.durable === true);
    if (this.#keeper.isInTurn) this.staysOfTurn ||= stays(run.tools.get(call.name), isDurable);
    if (isDurable) {
      const held = this.#held.get(transaction) ?? [];
      this.#held.set(transaction, [...held, call.id]);
      return;
    }
    this.#changed(run, call.id, transaction);
    this.#keeper.append(run.evaluationId, { kind: "committed", turn: run.turn, callIds: [call.id] });
  }

  committing(run: Run, transaction: Transaction): Promise<void> | undefined {
    const held = this.#held.get(transaction);
    if (held === undefined) return undefined;
    const { together } = this.#keeper;
    const isOpen = isOpenIn(together, transaction);
    try {
      if (!isOpen || isOpenInBody(together)) this.#keeper.assertMayWait(transaction);
      this.#appendFinished(run, transaction, held);
      if (!isOpen) return this.#keeper.flushed(transaction) ?? Promise.resolve();
      this.#keeper.writeTogether();
    } catch (fault) {
      return Promise.reject(fault);
    }
    return Promise.resolve();
  }

  /** The last that is kept of calls before what outlives the process is committed. */
  #appendFinished(run: Run, transaction: Transaction, callIds: readonly string[]): void {
    const isTogether = isAllIn(this.#keeper.together, transaction);
    for (const callId of callIds) {
      this.#changed(run, callId, transaction);
      // A turn of an agent may be lost although its calls were committed: this shows that they were.
      if (isTogether && !this.#keeper.isInTurn) continue;
      this.#keeper.append(run.evaluationId, new HandlerEntry("finished", run.turn, callId, this.#keys.get(callId)));
    }
    if (isTogether) this.#appendCommitted(run, transaction, callIds);
  }

  committed(run: Run, transaction: Transaction): Promise<void> | undefined {
    const callIds = this.#held.get(transaction);
    if (callIds === undefined) return undefined;
    this.#appendCommitted(run, transaction, callIds);
    return this.#keeper.flushed();
  }

  #appendCommitted(run: Run, transaction: Transaction, callIds: readonly string[]): void {
    this.#held.delete(transaction);
    this.#keeper.append(run.evaluationId, { kind: "committed", turn: run.turn, callIds });
  }

  /** What the call changed of resources in memory, so that another process can do it again. */
  #changed(run: Run, callId: string, { snapshots }: Transaction): void {
    for (const { resource, name, snapshot } of snapshots) {
      if (resource.durable === true) continue;
      const of = { kind: "changed", turn: run.turn, callId, resource: name } as const;
      const changes = resource.changes?.(snapshot);
      if (resource.changes !== undefined && changes === undefined) continue;
      // What had to be hidden cannot be done again.
      const isShown = run.world.secrets === undefined || isSame(run.redaction.value(changes), changes);
      this.#keeper.append(run.evaluationId, changes === undefined || !isShown ? of : { ...of, changes });
    }
  }
}

/** Whether what a call of an agent did may be there although its turn does not stand, and not be done again. */
export function stays(tool: Tool | undefined, isDurable: boolean): boolean {
  if (tool?.readOnly === true || tool?.idempotent === true) return false;
  // What it did is undone with the process, but for what was committed.
  return tool?.transactional !== true || isDurable;
}

function isSame(hidden: unknown, shown: unknown): boolean {
  return JSON.stringify(hidden) === JSON.stringify(shown);
}
